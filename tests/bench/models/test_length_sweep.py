from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, repeat
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.config import BenchConfig, Workload
from sumpool.bench.measures.timing import Work
from sumpool.bench.models import length_sweep
from sumpool.bench.models.length_sweep import Budget, CostModel, LengthSweep, afford, measure_models, with_steps
from sumpool.bench.models.tables import growth_rows
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row, where
from sumpool.bench.workload import WORKLOADS, Conditions, Contender, Documents, Subject
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.output.tied import TiedOutputConfig
from sumpool.core.pooling.halving import HalvingPoolerConfig
from sumpool.progress import Progress, no_op
from sumpool.training.hardware import peak

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
    monkeypatch.setattr(length_sweep, "available", lambda _: 20 * 2**30)
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
class Timed(Contender):
    """A system that reads in so many seconds: factor * length ** exponent."""

    time: Time
    factor: float
    exponent: float = 1.0

    def seconds(self, length: int) -> float:
        grown: float = length**self.exponent
        return self.factor * grown

    def precision_of(self, workload: Workload) -> None:
        """It has none."""

    def encode(self, documents: Documents) -> None:
        self.time.now += self.seconds(documents.ids.size(1))

    def train(self, documents: Documents) -> None:
        raise NotImplementedError(f"no training at {documents.ids.size(1)}")

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        raise NotImplementedError(f"no generation by {beams} beams of {tokens} tokens at {documents.ids.size(1)}")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(length_sweep, "clock", time.clock)
    return time


def measure(time: Time, seconds: float, lengths: tuple[int, ...], **others: Timed) -> dict[tuple[str, int], Row]:
    settings = BenchConfig(lengths=lengths, workloads=("encode",), repeats=5)
    time.now = -2 * sum(other.seconds(8) for other in others.values())  # is warmed up with half of the first length
    model = Subject(CONFIG, CONDITIONS)
    budget = Budget(seconds - time.now, lambda: time.now)
    sweep = LengthSweep({"model": model, **others}, settings, CONDITIONS, budget, no_op, no_op)
    sweep.measure()
    return {(row["model"], row["length"]): row for row in sweep.rows}


def runs(row: Row) -> int:
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


def test_gaps_are_filled_for_prediction_alone(time: Time) -> None:
    rows = measure(time, 10, (16, 256), other=Timed(time, 1 / 16))
    assert sorted({length for _, length in rows}) == [16, 256]
    assert rows["other", 256].note == "a repetition would take about 16 s"
    assert time.now == 6 + 4


def test_a_bar_never_goes_back_and_reaches_its_end() -> None:
    heard: list[Progress] = []
    settings = BenchConfig(lengths=(16, 32), workloads=("encode",), repeats=2)
    LengthSweep({"model": Subject(CONFIG, CONDITIONS)}, settings, CONDITIONS, Budget(60), heard.append, no_op).measure()
    assert [each.done for each in heard] == [0, 1, 2, 3, 5, 7, 9]
    assert {each.total for each in heard} == {9}
    assert heard[0].metrics == {"encode": "16 tokens, model"}


def test_long_documents_are_approached_in_steps() -> None:
    assert with_steps([512, 1024]) == [512, 1024]
    assert with_steps([65536]) == [1024, 4096, 16384, 65536]
    assert with_steps([64, 8192]) == [64, 256, 1024, 4096, 8192]
    assert with_steps([5000]) == [1024, 4096, 5000]


POOLED_SETTINGS = BenchConfig(lengths=(64, 16, 32), batch=3, target=5, generate=2, repeats=2)
QUICK = BenchConfig(lengths=(32,), target=5, generate=2, repeats=1)
DIM, WIDTH, BLOCK, KEEP, LAYERS = 16, 32, 8, 8, 2
POOLED = ModelConfig(
    dim=DIM,
    heads=2,
    feed_forward=WIDTH,
    source_length=32,
    encoder=(
        EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=BLOCK)),
        EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=BLOCK), pool=HalvingPoolerConfig(keep=KEEP)),
    ),
    decoder=DecoderConfig(layers=1),
    output=TiedOutputConfig(),
)


def encode_operations(length: int, seen: int, scored: int) -> int:
    """Count by hand: projections and feed-forward, scores and mixing over `seen` keys, and the scorer's product."""
    layer = 2 * length * (4 * DIM * DIM + 2 * DIM * WIDTH) + 2 * 2 * length * seen * DIM
    return POOLED_SETTINGS.batch * (LAYERS * layer + 2 * scored * DIM)


@pytest.fixture(scope="module")
def found(small_probes: None) -> Result:
    del small_probes
    return measure_models(POOLED, POOLED_SETTINGS, CONDITIONS)


@pytest.fixture(scope="module")
def rows(found: Result) -> Sequence[Row]:
    return found.rows["models"]


def quick(settings: BenchConfig = QUICK) -> Sequence[Row]:
    return measure_models(POOLED, settings, CONDITIONS).rows["models"]


def test_every_model_is_measured_at_every_work_and_length(rows: Sequence[Row]) -> None:
    expected = [
        (work, name, length)
        for work in WORKLOADS
        for length in (16, 32, 64)
        for name in ("model", "blockwise", "vanilla")
    ]
    assert [(row["workload"], row["model"], row["length"]) for row in rows] == expected
    assert all(row.timing is not None and len(row.timing.seconds) == 2 for row in rows)
    assert all(row["batch"] == 3 and row.note == "" for row in rows)


def test_counted_operations_are_those_of_the_hand_formula(rows: Sequence[Row]) -> None:
    counted = {(row["model"], row["length"]): row["operations"] for row in where(rows, {"workload": "encode"})}
    for length in (16, 32, 64):
        assert counted["model", length] == encode_operations(length, BLOCK, scored=length)
        assert counted["blockwise", length] == encode_operations(length, BLOCK, scored=0)
        assert counted["vanilla", length] == encode_operations(length, length, scored=0)


def test_growth_and_output_lengths_of_what_was_measured(rows: Sequence[Row]) -> None:
    growth = {(row["workload"], row["model"]): row for row in growth_rows(rows)}
    assert growth["encode", "model"]["operations"] == pytest.approx(1.0)
    assert growth["encode", "vanilla"]["operations"] > 1.2
    assert growth["train", "model"]["lengths"] == "16 to 64"
    lengths = {(row["model"], row["length"]): row["output_lengths"] for row in rows}
    assert (lengths["model", 64], lengths["vanilla", 32]) == ((64, KEEP), (32, 32))


def test_the_machine_takes_part_at_every_length(found: Result) -> None:
    assert {(row["rate"], row["length"]) for row in found.rows["machine_speed"]} == {
        (rate, length) for rate in ("fp32 products", "memory read", "memory copied") for length in (16, 32, 64)
    }
    assert {len(row.timing.seconds) for row in found.rows["machine_speed"] if row.timing} == {2}


def test_workloads_are_chosen() -> None:
    found = measure_models(POOLED, QUICK.model_copy(update={"workloads": ("generate",)}), CONDITIONS)
    assert {row["workload"] for row in found.rows["models"]} == {"generate"}
    assert not any("decoding step" in table.title for table in found.tables)


@pytest.mark.slow
def test_a_length_that_may_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Iterator[int] = chain([2**29] * 9, repeat(2**30))  # three models warm up at three works

    def peak(work: Work, device: torch.device) -> int:
        del device
        work()
        return next(found)

    monkeypatch.setattr("sumpool.bench.workload.peak", peak)
    monkeypatch.setattr("sumpool.bench.models.length_sweep.available", Mock(return_value=2**31))
    rows = quick(QUICK.model_copy(update={"lengths": (32, 64)}))
    assert {row.note for row in where(rows, {"length": 32})} == {""}
    assert {row.note for row in where(rows, {"length": 64})} == {"may need 2.5 GiB, 2.0 GiB are free"}
    assert all(row.timing is None and row["operations"] is None for row in where(rows, {"length": 64}))


def test_the_end_of_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    works = [None] * 6  # three models warm up twice
    monkeypatch.setattr(Subject, "train", Mock(side_effect=chain(works, repeat(torch.OutOfMemoryError()))))
    rows = quick()
    assert {row.note for row in where(rows, {"workload": "train"})} == {"out of memory"}
    assert all(row.timing for row in rows if row["workload"] != "train")


def test_libraries_are_warm_before_memory_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Mock()
    monkeypatch.setattr(Subject, "encode", encode)
    monkeypatch.setattr("sumpool.bench.workload.peak", Mock(side_effect=MemoryError))
    quick(QUICK.model_copy(update={"workloads": ("encode",)}))
    assert [call.args[0].ids.shape for call in encode.call_args_list] == [(1, 16)] * 3


def test_other_errors_are_not_taken_for_the_end_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subject, "encode", Mock(side_effect=RuntimeError("shapes do not fit")))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        measure_models(POOLED, QUICK, CONDITIONS)


class EncodingPeer(Contender):
    """A peer that only encodes, outside torch."""

    def precision_of(self, workload: Workload) -> str:
        return f"{workload}16"

    def encode(self, documents: Documents) -> None:
        assert documents.ids.shape in ((1, 16), (1, 32))  # it is warmed up with half of the length

    def train(self, documents: Documents) -> None:
        raise NotImplementedError("it does not learn")

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        raise NotImplementedError("it does not write")


@pytest.mark.slow
def test_peers_take_part_and_say_what_they_cannot() -> None:
    rows = measure_models(POOLED, QUICK, CONDITIONS, {"theirs": EncodingPeer()}).rows["models"]
    theirs = {row["workload"]: row for row in where(rows, {"model": "theirs"})}
    assert theirs["encode"].timing is not None
    assert theirs["encode"]["precision"] == "encode16"
    assert theirs["encode"]["operations"] is None  # nothing that is counted took place
    assert {workload: row.note for workload, row in theirs.items()} == {
        "encode": "",
        "train": "it does not learn",
        "generate": "it does not write",
    }
