import torch

from sumpool.core.attention._base import Windows


def rows(*lengths: int) -> torch.Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def test_chunks_of_padding_are_skipped() -> None:
    windows = Windows(rows(40, 3, 9), reach=4)
    assert len(windows.chunks(rows(40, 3, 9))) == 10 + 1 + 3


def test_no_row_is_empty_in_the_padding_either() -> None:
    """Kernels of GPUs and ONNX return NaN for a softmax over nothing."""
    assert Windows(rows(12, 1, 0), reach=4).visible.any(2).all()
