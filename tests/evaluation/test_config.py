import numpy as np
import pytest
from pydantic import ValidationError

from sumpool.evaluation.config import EvaluationConfig, length_slices, slices


def test_copied_and_unknown_references_are_not_low_leak() -> None:
    members = slices([0.0, 0.2, np.nan, 0.19], 0.2)
    assert {name: mask.tolist() for name, mask in members.items()} == {
        "all": [True] * 4,
        "low-leak": [True, False, False, True],
    }


def test_a_slice_without_documents_is_left_out() -> None:
    assert list(slices([np.nan, 0.9], 0.2)) == ["all"]
    assert slices([], 0.2) == {}


def test_lengths_are_divided_at_the_terciles_or_at_bounds() -> None:
    words = np.arange(1.0, 31.0)
    members = length_slices(words)
    assert {name: int(mask.sum()) for name, mask in members.items()} == {
        "up to 10 words": 10,
        "11 to 20 words": 10,
        "over 20 words": 10,
    }
    assert length_slices(words[:29]) == {}
    assert length_slices([np.nan] * 40) == {}
    assert list(length_slices([5.0] * 40)) == ["up to 5 words"]
    bounds = length_slices([1.0, 5.0, 6.0, np.nan], [5, 1000])
    assert {name: mask.tolist() for name, mask in bounds.items()} == {
        "up to 5 words": [True, True, False, False],
        "6 to 1,000 words": [False, False, True, False],
    }


def test_bounds_of_lengths_ascend() -> None:
    for bounds in ((5, 5), (9, 3), (0, 4)):
        with pytest.raises(ValidationError, match=r"length_bounds must ascend from at least 1, got \["):
            EvaluationConfig(length_bounds=bounds)


def test_length_of_baselines_is_a_number() -> None:
    for words in (0, "summary"):
        with pytest.raises(ValidationError, match=r"lead_words"):
            EvaluationConfig.model_validate({"lead_words": words})
