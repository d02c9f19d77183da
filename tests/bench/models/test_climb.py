import pytest
import torch

from sumpool.bench.models import climb
from sumpool.bench.models.climb import Climb
from sumpool.bench.models.rows import ModelRow

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


def test_only_what_grows_is_taken_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(climb, "available", lambda _: 20 * 2**30)
    row = ModelRow("train", "LED", 8192, 1)
    ran: list[int] = []
    known = Climb(CPU, {1024: 1.0}, {1024: 2**30 + 2**28}, least=2**30)  # 1 GiB of gradients, whatever the length
    assert known.attempt(lambda: ran.append(1), row).note == ""
    assert ran
    steep = Climb(CPU, {1024: 1.0}, {1024: 2**30 + 2**29}, least=2**30)
    assert steep.attempt(lambda: ran.append(2), row).note == "may need 33.0 GiB, 20.0 GiB are free"
    alone = Climb(CPU, {1024: 1.0}, {1024: 2**29})
    assert alone.attempt(lambda: ran.append(3), row).note == "may need 32.0 GiB, 20.0 GiB are free"
