import pytest
import torch

from sumpool.bench.climb import Climb

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("known", "length", "seconds"),
    [
        ({}, 64, 0.0),
        ({16: 1.0}, 16, 1.0),
        ({16: 1.0}, 64, 4.0),
        ({16: 1.0, 32: 4.0}, 64, 16.0),
        ({16: 1.0, 32: 9.0}, 64, 36.0),
        ({16: 1.0, 32: 1.0}, 64, 2.0),
        ({8: 0.001, 16: 1.0, 32: 2.0}, 64, 4.0),
        ({16: 0.0, 32: 0.0}, 64, 0.0),
    ],
    ids=["unknown", "measured", "one", "square", "no faster than squares", "no slower than lines", "last", "nothing"],
)
def test_seconds_are_foreseen_as_they_grew(known: dict[int, float], length: int, seconds: float) -> None:
    assert Climb(CPU, dict(known)).foresee(length) == pytest.approx(seconds)
