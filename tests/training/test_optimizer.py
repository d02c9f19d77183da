from itertools import pairwise
from typing import Literal

import pytest
import torch

from sumpool.errors import CheckpointError
from sumpool.training.config import ScheduleConfig
from sumpool.training.update import build_optimizer, moments_of, schedule_factor, set_moments
from tests.training.toy import CONFIG, new_model

Kind = Literal["constant", "inverse_sqrt", "cosine", "linear"]
KINDS: tuple[Kind, ...] = ("constant", "inverse_sqrt", "cosine", "linear")


def step_once(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 0.1)
    optimizer.step()


def test_weight_decay_applies_to_matrices_only() -> None:
    model = new_model()
    decays = {
        id(parameter): group["weight_decay"]
        for group in build_optimizer(model, CONFIG).param_groups
        for parameter in group["params"]
    }
    decay_by_name = {name: decays[id(parameter)] for name, parameter in model.named_parameters()}
    assert len(decay_by_name) == len(decays)
    assert {decay for name, decay in decay_by_name.items() if name.endswith("bias")} == {0.0}
    assert decay_by_name["embedding.weight"] == CONFIG.weight_decay


def test_moments_restore_an_optimizer() -> None:
    first, second = new_model(), new_model()
    original, restored = build_optimizer(first, CONFIG), build_optimizer(second, CONFIG)
    step_once(first, original)
    second.load_state_dict(first.state_dict())
    set_moments(restored, second, moments_of(original, first))
    step_once(first, original)
    step_once(second, restored)
    for left, right in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(left, right)
    assert moments_of(restored, second)["embedding.weight:step"] == 2


def test_moments_of_another_model_are_an_error() -> None:
    model = new_model()
    optimizer = build_optimizer(model, CONFIG)
    with pytest.raises(CheckpointError, match=r"embedding.weight:exp_avg \(3,\) must belong to a parameter"):
        set_moments(optimizer, model, {"embedding.weight:exp_avg": torch.zeros(3)})
    with pytest.raises(CheckpointError, match="other:exp_avg"):
        set_moments(optimizer, model, {"other:exp_avg": torch.zeros(3)})


def rates(kind: Kind, warmup: int = 10, floor: float = 0.1, steps: int = 100) -> list[float]:
    config = ScheduleConfig(kind=kind, warmup=warmup, floor=floor)
    return [schedule_factor(step, config, steps) for step in range(steps)]


def test_warm_up_is_linear_and_decay_is_monotonic() -> None:
    for kind in KINDS:
        factors = rates(kind)
        assert factors[:11] == pytest.approx([step / 11 for step in range(1, 12)])
        assert all(later <= earlier for earlier, later in pairwise(factors[10:]))
        assert min(factors) > 0


def test_decay_shapes() -> None:
    shapes: dict[Kind, tuple[float, float]] = {
        "constant": (1.0, 1.0),
        "inverse_sqrt": ((11 / 56) ** 0.5, 0.11**0.5),
        "cosine": (0.55, 0.1),
        "linear": (0.55, 0.1),
    }
    for kind, (middle, end) in shapes.items():
        factors = rates(kind)
        assert factors[55] == pytest.approx(middle)
        assert factors[-1] == pytest.approx(end, abs=0.02)


def test_a_run_shorter_than_its_warm_up_only_rises() -> None:
    for kind in KINDS:
        assert rates(kind, warmup=50, steps=5) == pytest.approx([step / 51 for step in range(1, 6)])


def test_steps_beyond_the_end_have_the_floor() -> None:
    assert schedule_factor(500, ScheduleConfig(kind="cosine", warmup=0, floor=0.1), 100) == pytest.approx(0.1)
