from collections.abc import Iterator, Sequence

import pytest

from sumpool.bench.peers.trainer_setup import TrainingClock


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_stopwatch_counts_only_while_it_runs(clock: Clock) -> None:
    stopwatch = TrainingClock(10, [1.0], clock)
    clock.seconds += 5
    assert (stopwatch.seconds, stopwatch.share) == (0, 0)
    stopwatch.start()
    clock.seconds += 2
    assert (stopwatch.seconds, stopwatch.share) == (2, 0.2)
    stopwatch.stop()
    clock.seconds += 50
    assert (stopwatch.seconds, stopwatch.share) == (2, 0.2)
    stopwatch.start()
    clock.seconds += 8
    assert (stopwatch.seconds, stopwatch.share) == (10, 1)
    clock.seconds += 10
    assert stopwatch.share == 1


def judged(stopwatch: TrainingClock, clock: Clock, laps: Sequence[float]) -> Iterator[bool]:
    for lap in laps:
        stopwatch.start()
        clock.seconds += lap
        stopwatch.stop()
        yield stopwatch.is_due()


def test_a_validation_is_due_once_its_share_is_gone(clock: Clock) -> None:
    for shares, laps, expected in (
        ([0.25, 1.0], [2, 0.5, 1, 6, 0.5], [False, True, False, False, True]),
        ([0.25, 0.5, 1.0], [6, 3, 2], [True, False, True]),  # two are due together
        ([0.5], [6, 1, 5], [True, False, True]),  # the end is always judged
        ([0.5, 1.0], [30], [True]),
    ):
        assert list(judged(TrainingClock(10, shares, clock), clock, laps)) == expected
