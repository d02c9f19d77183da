from collections.abc import Iterator, Sequence

import pytest

from sumpool.bench.peers.trainer import Course, Learnt


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_course_counts_only_while_it_runs(clock: Clock) -> None:
    course = Course(10, [1.0], clock)
    clock.seconds += 5
    assert (course.seconds, course.share) == (0, 0)
    course.go()
    clock.seconds += 2
    assert (course.seconds, course.share) == (2, 0.2)
    course.stop()
    clock.seconds += 50
    assert (course.seconds, course.over) == (2, False)
    course.go()
    clock.seconds += 8
    assert (course.seconds, course.share, course.over) == (10, 1, True)
    clock.seconds += 10
    assert course.share == 1


def judged(course: Course, clock: Clock, laps: Sequence[float]) -> Iterator[bool]:
    for lap in laps:
        course.go()
        clock.seconds += lap
        course.stop()
        yield course.is_due()


@pytest.mark.parametrize(
    ("shares", "laps", "expected"),
    [
        ([0.25, 1.0], [2, 0.5, 1, 6, 0.5], [False, True, False, False, True]),
        ([0.25, 0.5, 1.0], [6, 3, 2], [True, False, True]),  # two are due together
        ([0.5], [6, 1, 5], [True, False, True]),  # the end is always judged
        ([0.5, 1.0], [30], [True]),
    ],
)
def test_a_validation_is_due_once_its_share_is_gone(
    shares: list[float], laps: list[float], expected: list[bool], clock: Clock
) -> None:
    assert list(judged(Course(10, shares, clock), clock, laps)) == expected


def test_the_loss_is_that_of_the_weights_that_are_kept() -> None:
    losses = ((1.0, 3.0), (2.0, 2.5), (3.0, 2.75))
    assert Learnt(None, 1, 3, losses, (1.0,), None).loss == 2.5
