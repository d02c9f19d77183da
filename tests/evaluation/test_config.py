import numpy as np
import pytest
from pydantic import ValidationError

from sumpool.evaluation.config import EvaluationConfig, slices


def test_copied_and_unknown_references_are_not_low_leak() -> None:
    members = slices([0.0, 0.2, np.nan, 0.19], 0.2)
    assert {name: mask.tolist() for name, mask in members.items()} == {
        "all": [True] * 4,
        "low-leak": [True, False, False, True],
    }


def test_a_slice_without_documents_is_left_out() -> None:
    assert list(slices([np.nan, 0.9], 0.2)) == ["all"]
    assert slices([], 0.2) == {}


def test_length_of_baselines_is_a_number() -> None:
    for words in (0, "summary"):
        with pytest.raises(ValidationError, match=r"lead_words"):
            EvaluationConfig.model_validate({"lead_words": words})
