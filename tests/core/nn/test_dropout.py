import pytest
import torch
from torch import nn

from sumpool.core.nn.layers import Dropout
from tests.core.emulated_gpu import GpuTensor, emulated_gpu


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.937])
def test_elements_are_dropped_and_the_others_scaled(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    states = torch.ones(500, 401, dtype=dtype, requires_grad=True)
    dropped = Dropout(p)(states)
    assert dropped.dtype == dtype
    share = (dropped == 0).double().mean().item()
    assert share == pytest.approx(p, abs=5 * (p * (1 - p) / states.numel()) ** 0.5)
    kept = dropped[dropped != 0]
    assert kept.unique().numel() == 1
    assert kept[0].item() == pytest.approx(1 / (1 - p), rel=0.004 if dtype is torch.bfloat16 else 2e-4)
    dropped.sum().backward()
    assert states.grad is not None
    assert torch.equal(states.grad, dropped.detach())


def test_elements_are_dropped_independently() -> None:
    """No element follows from its neighbours, with which it shares a random number."""
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(10**6)) > 0).double() - 0.5
    for distance in (1, 2, 3, 4, 8, 1000):
        correlation = 4 * (kept[distance:] * kept[:-distance]).mean().item()
        assert abs(correlation) < 0.005


def test_draws_follow_the_seed() -> None:
    states, dropout = torch.ones(7, 9).t(), Dropout(0.3)
    torch.manual_seed(5)
    first, second = dropout(states), dropout(states)
    torch.manual_seed(5)
    assert torch.equal(dropout(states), first)
    assert not torch.equal(first, second)
    assert first.shape == states.shape


def test_limits() -> None:
    states = torch.ones(3, 5)
    assert Dropout(0.0)(states) is states
    assert Dropout(0.5).eval()(states) is states
    assert not Dropout(1.0)(states).any()
    assert Dropout(0.5)(torch.ones(0)).shape == (0,)
    assert str(Dropout(0.25)) == "Dropout(p=0.25)"
    with pytest.raises(ValueError, match=r"p must be from 0 to 1, got 1\.5"):
        Dropout(1.5)


def test_other_devices_draw_as_pytorch_does() -> None:
    with emulated_gpu() as gpu:
        states = GpuTensor(torch.ones(64, 64))
        torch.manual_seed(2)
        ours = Dropout(0.4)(states)
        torch.manual_seed(2)
        theirs = nn.Dropout(0.4)(states)
        assert isinstance(ours, GpuTensor)
        assert isinstance(theirs, GpuTensor)
        assert torch.equal(ours.memory, theirs.memory)
    assert not gpu.synchronisations
