from itertools import pairwise
from typing import Literal

import pytest

from sumpool.training.config import ScheduleConfig
from sumpool.training.schedule import factor

Kind = Literal["constant", "inverse_sqrt", "cosine", "linear"]
KINDS: tuple[Kind, ...] = ("constant", "inverse_sqrt", "cosine", "linear")


def rates(kind: Kind, warmup: int = 10, floor: float = 0.1, steps: int = 100) -> list[float]:
    config = ScheduleConfig(kind=kind, warmup=warmup, floor=floor)
    return [factor(step, config, steps) for step in range(steps)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_schedule_climbs_evenly_to_the_peak_and_never_rises_again(kind: Kind) -> None:
    found = rates(kind)
    assert found[:11] == pytest.approx([step / 11 for step in range(1, 12)])
    assert all(later <= earlier for earlier, later in pairwise(found[10:]))
    assert min(found) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_even_one_step_of_warm_up_makes_the_first_update_small(kind: Kind) -> None:
    assert rates(kind, warmup=1)[:2] == pytest.approx([0.5, 1.0])


@pytest.mark.parametrize(
    ("kind", "middle", "end"),
    [
        ("constant", 1.0, 1.0),
        ("inverse_sqrt", (11 / 56) ** 0.5, 0.11**0.5),
        ("cosine", 0.55, 0.1),
        ("linear", 0.55, 0.1),
    ],
)
def test_shapes(kind: Kind, middle: float, end: float) -> None:
    found = rates(kind)
    assert found[55] == pytest.approx(middle)
    assert found[-1] == pytest.approx(end, abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_shorter_than_its_warm_up_only_climbs(kind: Kind) -> None:
    assert rates(kind, warmup=50, steps=5) == pytest.approx([step / 51 for step in range(1, 6)])


def test_steps_beyond_the_end_stay_at_the_floor() -> None:
    assert factor(500, ScheduleConfig(kind="cosine", warmup=0, floor=0.1), 100) == pytest.approx(0.1)
