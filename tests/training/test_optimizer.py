import pytest
import torch

from sumpool.errors import CheckpointError
from sumpool.training.optimizer import build_optimizer, moments_of, set_moments
from tests.training.toy import CONFIG, new_model


def step_once(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 0.1)
    optimizer.step()


def test_only_matrices_decay() -> None:
    model = new_model()
    decays = {
        id(parameter): group["weight_decay"]
        for group in build_optimizer(model, CONFIG).param_groups
        for parameter in group["params"]
    }
    found = {name: decays[id(parameter)] for name, parameter in model.named_parameters()}
    assert len(found) == len(decays)
    assert {decay for name, decay in found.items() if name.endswith("bias")} == {0.0}
    assert found["embedding.weight"] == CONFIG.weight_decay


def test_an_optimizer_goes_on_with_the_moments_of_another() -> None:
    first, second = new_model(), new_model()
    one, other = build_optimizer(first, CONFIG), build_optimizer(second, CONFIG)
    step_once(first, one)
    second.load_state_dict(first.state_dict())
    set_moments(other, second, moments_of(one, first))
    step_once(first, one)
    step_once(second, other)
    for left, right in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(left, right)
    assert moments_of(other, second)["embedding.weight:step"] == 2


def test_moments_of_another_model_are_refused() -> None:
    model = new_model()
    optimizer = build_optimizer(model, CONFIG)
    with pytest.raises(CheckpointError, match=r"embedding.weight:exp_avg \(3,\) must belong to a parameter"):
        set_moments(optimizer, model, {"embedding.weight:exp_avg": torch.zeros(3)})
    with pytest.raises(CheckpointError, match="other:exp_avg"):
        set_moments(optimizer, model, {"other:exp_avg": torch.zeros(3)})
