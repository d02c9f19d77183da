"""What stays in the batch of a search, by device."""

import pytest

from sumpool.core.decoding.beam import documents_to_keep, is_host


@pytest.mark.parametrize(
    ("unfinished", "on_cpu", "on_gpu"),
    [
        ([True, True, True, False], [0, 1, 2], [0, 1, 2, 3]),
        ([True, False, True, False], [0, 2], [0, 2]),
        ([True, True, True, False, False], [0, 1, 2], [0, 1, 2, 3, 4]),
        ([False, False, True], [2], [2]),
        ([False, False], [], []),
    ],
)
def test_a_gpu_drops_documents_when_half_have_finished(
    unfinished: list[bool], on_cpu: list[int], on_gpu: list[int]
) -> None:
    assert documents_to_keep(unfinished, "cpu") == on_cpu
    assert documents_to_keep(unfinished, "cuda") == on_gpu


def test_hypotheses_are_values_of_python_on_a_cpu() -> None:
    assert is_host("cpu")
    assert not is_host("cuda:0")
