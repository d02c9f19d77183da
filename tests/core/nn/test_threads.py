"""One thread where that is wanted, and as many as before behind it."""

from collections.abc import Iterator

import pytest
import torch

from sumpool.core.nn.threads import one_thread


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_one_thread_within_and_all_behind() -> None:
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(ValueError, match="stop"), one_thread():
        raise ValueError("stop")
    assert torch.get_num_threads() == 2


def test_all_threads_where_one_is_not_wanted() -> None:
    with one_thread(wanted=False):
        assert torch.get_num_threads() == 2
