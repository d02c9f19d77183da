from dataclasses import dataclass

import pytest
import torch

from sumpool.bench.config import BenchConfig
from sumpool.bench.measures.timing import Work
from sumpool.bench.models import ascent, climb
from sumpool.bench.models.ascent import Ascent, with_steps
from sumpool.bench.models.budget import Budget
from sumpool.bench.models.rows import ModelRow
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.interruption import go_on
from sumpool.progress import Progress, silent

pytestmark = pytest.mark.usefixtures("small_probes")
CONDITIONS = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
CONFIG = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=16,
    encoder=(EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=8)),),
    decoder=DecoderConfig(layers=1),
)


@dataclass
class Time:
    """Time that passes only while something is measured."""

    now: float = 0.0

    def clock(self, work: Work, device: torch.device) -> float:
        del device
        before = self.now
        work()
        return self.now - before


@dataclass
class Timed:
    """A system that reads in so many seconds: factor * length ** exponent."""

    time: Time
    factor: float
    exponent: float = 1.0

    def seconds(self, length: int) -> float:
        grown: float = length**self.exponent
        return self.factor * grown

    def encode(self, documents: Documents) -> None:
        self.time.now += self.seconds(documents.ids.size(1))

    def train(self, documents: Documents) -> None:
        raise NotImplementedError(f"no training at {documents.ids.size(1)}")

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        raise NotImplementedError(f"no generation by {beams} beams of {tokens} tokens at {documents.ids.size(1)}")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    for module in (ascent, climb):
        monkeypatch.setattr(module, "clock", time.clock)
    return time


def measure(time: Time, seconds: float, lengths: tuple[int, ...], **others: Timed) -> dict[tuple[str, int], ModelRow]:
    settings = BenchConfig(lengths=lengths, works=("encode",), repeats=5)
    time.now = -2 * sum(other.seconds(8) for other in others.values())  # is warmed up with half of the first length
    model = Subject(CONFIG, CONDITIONS)
    budget = Budget(seconds - time.now, lambda: time.now)
    rising = Ascent({"model": model, **others}, settings, CONDITIONS, budget, silent, go_on)
    rising.climb()
    return {(row.model, row.length): row for row in rising.rows}


def runs(row: ModelRow) -> int:
    return len(row.timing.seconds) if row.timing else 0


def test_with_time_enough_everything_is_repeated_as_often_as_wanted(time: Time) -> None:
    rows = measure(time, 1000, (16, 32, 64), other=Timed(time, 1 / 16), square=Timed(time, 1 / 256, 2))
    assert {runs(row) for row in rows.values()} == {5}
    assert time.now == 6 * (1 + 2 + 4 + 1 + 4 + 16)


def test_what_is_too_costly_is_left_out_before_it_is_tried(time: Time) -> None:
    rows = measure(time, 60, (16, 32, 64), other=Timed(time, 1 / 16), square=Timed(time, 1 / 256, 2))
    assert rows["square", 64].note == "a repetition would take about 16 s"
    assert runs(rows["square", 64]) == 0
    assert {name for name, row in rows.items() if row.note} == {("square", 64)}
    assert time.now <= 60


def test_repetitions_shrink_at_all_lengths_alike(time: Time) -> None:
    rows = measure(time, 30, (16, 32, 64), other=Timed(time, 1 / 16))
    assert [runs(rows["other", length]) for length in (16, 32, 64)] == [3, 3, 3]
    assert time.now <= 30


def test_time_that_ended_leaves_the_rest_out(time: Time) -> None:
    rows = measure(time, 1, (16, 32), other=Timed(time, 1.0))
    assert runs(rows["other", 16]) == 1  # nobody knew
    assert rows["other", 32].note == "a repetition would take about 32 s"
    assert runs(rows["model", 32]) == 1  # it costs nothing


def test_gaps_are_filled_for_foresight_alone(time: Time) -> None:
    rows = measure(time, 10, (16, 256), other=Timed(time, 1 / 16))
    assert sorted({length for _, length in rows}) == [16, 256]
    assert rows["other", 256].note == "a repetition would take about 16 s"
    assert time.now == 6 + 4


def test_a_bar_never_goes_back_and_reaches_its_end() -> None:
    heard: list[Progress] = []
    settings = BenchConfig(lengths=(16, 32), works=("encode",), repeats=2)
    Ascent({"model": Subject(CONFIG, CONDITIONS)}, settings, CONDITIONS, Budget(60), heard.append, go_on).climb()
    assert [each.done for each in heard] == [0, 1, 2, 3, 5, 7, 9]
    assert {each.total for each in heard} == {9}
    assert heard[0].metrics == {"encode": "16 tokens, model"}


@pytest.mark.parametrize(
    ("lengths", "steps"),
    [
        ([512, 1024], [512, 1024]),
        ([65536], [1024, 4096, 16384, 65536]),
        ([64, 8192], [64, 256, 1024, 4096, 8192]),
        ([5000], [1024, 4096, 5000]),
    ],
)
def test_long_documents_are_approached_in_steps(lengths: list[int], steps: list[int]) -> None:
    assert with_steps(lengths) == steps
