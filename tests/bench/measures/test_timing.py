import pytest
import torch

from sumpool.bench.measures import timing
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
    found = Timing((3.0, 1.0, 1.5))
    assert (found.median, found.fastest, found.spread) == (1.5, 1.0, 3.0)


def test_no_repetition_is_refused() -> None:
    with pytest.raises(ValueError, match="repeats must be at least 1, got 0"):
        interleave({}, 0, CPU)


def test_a_slow_work_is_not_repeated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "clock", lambda work, _: work())
    timings = interleave({"slow": lambda: 0.02, "fast": lambda: 0.0}, 3, CPU, enough=0.01)
    assert (len(timings["slow"].seconds), len(timings["fast"].seconds)) == (1, 3)
