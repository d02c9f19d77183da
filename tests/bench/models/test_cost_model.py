from itertools import count

import pytest
import torch

from sumpool.bench.models import cost_model
from sumpool.bench.models.cost_model import Budget, CostModel, afford
from sumpool.training.memory import peak

CPU = torch.device("cpu")


def test_seconds_are_predicted_as_they_grew() -> None:
    for known, length, seconds in (
        ({}, 64, 0.0),
        ({16: 1.0}, 16, 1.0),
        ({16: 1.0}, 64, 4.0),
        ({16: 1.0, 32: 4.0}, 64, 16.0),
        ({16: 1.0, 32: 9.0}, 64, 36.0),
        ({16: 1.0, 32: 1.0}, 64, 2.0),
        ({8: 0.001, 16: 1.0, 32: 2.0}, 64, 4.0),
        ({16: 0.0, 32: 0.0}, 64, 0.0),
    ):
        assert CostModel(peak, CPU, dict(known)).predict(length) == pytest.approx(seconds)


def test_only_what_grows_is_taken_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "available", lambda _: 20 * 2**30)
    ran: list[int] = []
    gradients = 2**30  # whatever the length
    known = CostModel(peak, CPU, {1024: 1.0}, {1024: gradients + 2**28}, least=gradients)
    assert known.attempt(lambda: ran.append(1), 8192, counted=True)[1] == ""
    assert ran
    steep = CostModel(peak, CPU, {1024: 1.0}, {1024: gradients + 2**29}, least=gradients)
    assert steep.attempt(lambda: ran.append(2), 8192, counted=True)[1] == "may need 33.0 GiB, 20.0 GiB are free"
    alone = CostModel(peak, CPU, {1024: 1.0}, {1024: 2**29})
    assert alone.attempt(lambda: ran.append(3), 8192, counted=True)[1] == "may need 32.0 GiB, 20.0 GiB are free"


def nobody(name: str) -> bool:
    return name == ""


def test_what_is_left() -> None:
    ticks = count(100, 7)
    budget = Budget(10, lambda: float(next(ticks)))
    assert (budget.left(), budget.left()) == (3, -4)


def test_the_cheap_goes_before_the_costly() -> None:
    assert afford({"a": 4.0, "b": 1.0, "c": 2.0}, 9, nobody) == {"b", "c"}  # three repetitions of each


def test_what_goes_first_is_not_weighed() -> None:
    assert afford({"a": 3.0, "b": 1.0}, 9, lambda name: name == "a") == {"a"}


def test_what_costs_too_much_makes_room_for_what_does_not() -> None:
    assert afford({"a": 4.0, "b": 1.0}, 9, lambda name: name == "a") == {"b"}


def test_nothing_is_known_of_what_was_not_tried() -> None:
    assert afford({"a": 0.0, "b": 1.0}, -5, nobody) == {"a"}
