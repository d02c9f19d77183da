import torch
from torch import Tensor, nn

from sumpool.core.nn.checkpointing import call


class Counting(nn.Module):
    """Says how often it was worked out."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def forward(self, states: Tensor, factor: float) -> Tensor:
        self.times += 1
        return (states * factor).exp()


def test_a_layer_is_worked_out_again_where_a_gradient_wants_it() -> None:
    layer = Counting()
    call(layer, torch.ones(3, requires_grad=True), 2.0, again=False).sum().backward()
    assert layer.times == 1
    states = torch.ones(3, requires_grad=True)
    call(layer, states, 2.0, again=True).sum().backward()
    assert layer.times == 3
    torch.testing.assert_close(states.grad, torch.full((3,), 2.0).exp() * 2)
    with torch.no_grad():
        call(layer, torch.ones(3), 2.0, again=True)
    assert layer.times == 4
