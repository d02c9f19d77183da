import numpy as np

from sumpool.evaluation.config import slices


def test_copied_and_unknown_references_are_not_low_leak() -> None:
    members = slices([0.0, 0.2, np.nan, 0.19], 0.2)
    assert {name: mask.tolist() for name, mask in members.items()} == {
        "all": [True] * 4,
        "low-leak": [True, False, False, True],
    }


def test_a_slice_without_documents_is_left_out() -> None:
    assert list(slices([np.nan, 0.9], 0.2)) == ["all"]
    assert slices([], 0.2) == {}
