import torch

from sumpool.core.nn.positions import sinusoid


def test_first_position_is_zero_sines_and_one_cosines() -> None:
    assert sinusoid(torch.tensor([0]), 6).tolist() == [[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]]


def test_a_place_has_one_code_wherever_it_stands() -> None:
    codes = sinusoid(torch.tensor([[3, 9], [9, 3]]), 8)
    assert torch.equal(codes[0], codes[1].flip(0))
    assert not torch.equal(codes[0, 0], codes[0, 1])
