import time

import pytest
import torch

from sumpool.bench.measures.timing import Timing, interleave

CPU = torch.device("cpu")


def test_works_take_turns_after_one_uncounted_repetition() -> None:
    order: list[str] = []
    works = {name: (lambda name=name: order.append(name)) for name in "abc"}
    timings = interleave(works, 2, CPU)
    assert "".join(order) == "abc" * 3
    assert {name: len(timing.seconds) for name, timing in timings.items()} == {"a": 2, "b": 2, "c": 2}


def test_check_stops_between_repetitions() -> None:
    done: list[int] = []

    def check() -> None:
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interleave({"a": lambda: done.append(1)}, 5, CPU, check)
    assert len(done) == 2


def test_figures_of_a_timing() -> None:
    timing = Timing((3.0, 1.0, 1.5))
    assert (timing.median, timing.fastest, timing.spread) == (1.5, 1.0, 3.0)


def test_no_repetition_is_refused() -> None:
    with pytest.raises(ValueError, match="repeats must be at least 1, got 0"):
        interleave({}, 0, CPU)


def test_a_slow_work_is_not_repeated_again() -> None:
    works = {"slow": lambda: time.sleep(0.02), "fast": lambda: None}
    timings = interleave(works, 3, CPU, enough=0.01)
    assert (len(timings["slow"].seconds), len(timings["fast"].seconds)) == (1, 3)
