import json
import signal
from dataclasses import dataclass
from itertools import chain, product, repeat
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.config import BenchConfig, Workload
from sumpool.bench.measures import Timing, profile_model
from sumpool.bench.models import CostModel, LengthSweep, bench, measure_models, model_result, step_rows, with_steps
from sumpool.bench.results import BenchReport, Result, Row, Table, where
from sumpool.bench.workload import WORKLOADS, Contender, Documents, Subject
from sumpool.errors import Interrupted, RecipeError
from sumpool.io.manifest import SHIPPED
from sumpool.progress import Progress, no_op
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.hardware import peak
from tests.bench.conftest import CONDITIONS, CPU, POOLED, Time

MEBI = 2**20


def row(workload: str, model: str, length: int, *seconds: float, note: str = "", **values: object) -> Row:
    labels = {"workload": workload, "model": model, "length": length, "batch": 4}
    return Row(labels | values, Timing(seconds) if seconds else None, note)


def speed(rate: str, length: int, amount: int, *seconds: float) -> Row:
    return Row({"rate": rate, "length": length, "amount": amount}, Timing(seconds))


OURS: dict[str, Any] = {"precision": "fp32", "weights": 2 * MEBI}
MODEL = {**OURS, "memory": 3 * MEBI, "operations": 25 * 10**9, "output_lengths": (1024, 64), "step_bytes": 3 * MEBI}
ROWS = (
    row("encode", "model", 1024, 0.5, 0.5, 0.6, **MODEL),
    row("encode", "blockwise", 1024, 1.0, 1.2, **OURS, memory=6 * MEBI, output_lengths=(1024,) * 2),
    row("encode", "theirs", 1024, 1.0, 3.0, precision="bf16"),
    row("encode", "theirs", 2048, note="out of memory"),
    row("encode", "theirs", 4096, note="out of memory"),
    row("encode", "others", 1024, note="nothing to read"),
    row("encode", "others", 2048, note="out of memory"),
    row("encode", "some", 1024, note="a repetition would take about 3 s"),
    row("encode", "some", 2048, 1.0, 1.0),
    row("generate", "model", 1024, 2.0, **OURS, step_bytes=3 * MEBI),
)
MACHINE = (
    speed("fp32 products", 1024, 10**9, 0.01, 0.01),
    speed("fp32 products", 2048, 10**9, 0.02),
    speed("memory read", 1024, 10**9, 0.1),
)
RESULT = model_result(ROWS, MACHINE, generate=64, beams=2)
REPORT = BenchReport(
    recipe="tiny",
    suite="model",
    device="cpu",
    precision="fp32",
    settings={"bench": {"generate": 64, "beams": 2}, "model": {"dim": 8}, "vocabulary": 40},
    result=RESULT,
)


def table(title: str) -> Table:
    (found,) = [found for found in RESULT.tables if found.title.startswith(title)]
    return found


def test_a_report_begins_with_the_machine_and_keeps_every_repetition() -> None:
    machine = REPORT.tables()[0]
    assert machine.title == "bench of tiny"
    assert ("precision", "fp32") in machine.cells()
    assert ("torch", torch.__version__) in machine.cells()
    loaded = json.loads(REPORT.to_json())
    assert loaded["models"][0]["seconds"] == [0.5, 0.5, 0.6]
    assert loaded["models"][3]["note"] == "out of memory"
    assert loaded["machine"]["cores"] >= 1


def test_tables_of_machine_models_and_steps() -> None:
    speeds = table("speed of the machine").cells()  # medians of all turns
    assert speeds == [("fp32 products", "100 Gop/s", "2.00?"), ("memory read", "10.0 GB/s", "1.00")]
    steps = table("one decoding step").cells()
    assert steps == [("1,024", "model", "23.4", "1.20", "3", "1 %", "1.00")]
    assert table("models").cells() == [
        ("model", "2", "fp32", "1,024", "1,024, 64"),
        ("blockwise", "2", "fp32", "1,024", "2 x 1,024"),
    ]


def test_workloads() -> None:
    encode, generate = table("encoding, batch"), table("encoding and generating")
    assert encode.title == "encoding, batch 4"
    assert encode.headings()[-3:] == ["/ weights", "utilization", "x model"]
    assert encode.cells() == [
        ("1,024", "model", "0.500", "1.20", "8.00", "8,192", "3", "1.50", "50 %", "1.00"),
        ("1,024", "blockwise", "1.10", "1.20", "3.64", "3,724", "6", "3.00", "-", "2.20"),
        ("1,024", "theirs", "2.00", "3.00?", "2.00", "2,048", "-", "-", "-", "4.00?"),
        ("2,048", "some", "1.00", "1.00", "4.00", "8,192", "-", "-", "-", "-"),
    ]
    assert encode.notes == [
        "theirs was left out from 2,048 tokens on: out of memory",
        "others was left out: nothing to read",
        "some was left out at 1,024 tokens: a repetition would take about 3 s",
        "medians of 2 to 3 repetitions; x model: time over that of the model",
        "utilization: operations per second over those of a large product in the same precision",
        "precision: model fp32, blockwise fp32, theirs bf16",
        "?: slowest over fastest above 1.5; measure again on a quiet machine",
    ]
    assert generate.title == "encoding and generating 64 tokens with 2 beams, batch 4"
    assert generate.notes == ["single repetitions; x model: time over that of the model"]
    assert "utilization" not in generate.headings()


SPEEDS = (speed("fp32 products", 16, 100, 1.0),)
ENCODE = row("encode", "model", 16, 2.0, 2.0, operations=120, precision="fp32")
GENERATE = row("generate", "model", 16, 4.0, 6.0, 5.0, precision="fp32")


def utilization(measured: Row) -> object:
    (found,) = model_result([measured], SPEEDS, 1, 1).rows["models"]
    return found["utilization"]


def test_operations_are_compared_with_the_speed_of_the_same_turns() -> None:
    assert utilization(ENCODE) == pytest.approx(120 / 2 / 100)
    for measured in (
        row("encode", "theirs", 16, 2.0, operations=120),
        row("encode", "model", 16, 2.0, operations=120, precision="bf16"),
        row("encode", "model", 32, 2.0, operations=120, precision="fp32"),
        row("encode", "model", 16, note="out of memory", operations=120, precision="fp32"),
        GENERATE,
    ):
        assert utilization(measured) is None


def test_a_step_is_generation_less_encoding() -> None:
    (step,) = step_rows([ENCODE, GENERATE], [], tokens=2)
    assert step["median"] == (5.0 - 2.0) / 2
    assert step["spread"] == 1.5
    for rows in ([GENERATE], [ENCODE], [ENCODE, row("generate", "model", 16, 2.0)]):
        assert list(step_rows(rows, [], tokens=1)) == []


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
    monkeypatch.setattr("sumpool.bench.models.available", lambda _: 20 * 2**30)
    ran: list[int] = []
    gradients = 2**30  # whatever the length
    known = CostModel(peak, CPU, {1024: 1.0}, {1024: gradients + 2**28}, least=gradients)
    assert known.attempt(lambda: ran.append(1), 8192, counted=True)[1] == ""
    assert ran
    steep = CostModel(peak, CPU, {1024: 1.0}, {1024: gradients + 2**29}, least=gradients)
    assert steep.attempt(lambda: ran.append(2), 8192, counted=True)[1] == "may need 33.0 GiB, 20.0 GiB are free"
    alone = CostModel(peak, CPU, {1024: 1.0}, {1024: 2**29})
    assert alone.attempt(lambda: ran.append(3), 8192, counted=True)[1] == "may need 32.0 GiB, 20.0 GiB are free"


pytestmark = pytest.mark.usefixtures("small_probes")


@dataclass
class Timed(Contender):
    """A system that only reads, in so many seconds: factor * length ** exponent."""

    time: Time
    factor: float
    exponent: float = 1.0

    def seconds(self, length: int) -> float:
        grown: float = length**self.exponent
        return self.factor * grown

    def precision_of(self, workload: Workload) -> str:
        return f"{workload}16"

    def encode(self, documents: Documents) -> None:
        self.time.now += self.seconds(documents.ids.size(1))

    def train(self, documents: Documents) -> None:
        raise NotImplementedError("it does not learn")

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        raise NotImplementedError("it does not write")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr("sumpool.bench.models.clock", time.clock)
    return time


def measure(time: Time, seconds: float, lengths: tuple[int, ...], **others: Timed) -> dict[tuple[str, int], Row]:
    settings = BenchConfig(lengths=lengths, workloads=("encode",), repeats=5)
    time.now = -2 * sum(other.seconds(8) for other in others.values())  # is warmed up with half of the first length
    model = Subject(POOLED.model_copy(update={"source_length": max(lengths)}), CONDITIONS)
    sweep = LengthSweep({"model": model, **others}, settings, CONDITIONS, lambda: seconds - time.now, no_op, no_op)
    sweep.measure()
    return {(row["model"], row["length"]): row for row in sweep.rows}


def runs(row: Row) -> int:
    return len(row.timing.seconds) if row.timing else 0


def test_repetitions_are_as_many_as_time_allows_at_all_lengths(time: Time) -> None:
    rows = measure(time, 1000, (16, 32, 64), other=Timed(time, 1 / 16), square=Timed(time, 1 / 256, 2))
    assert {runs(row) for row in rows.values()} == {5}
    assert time.now == 6 * (1 + 2 + 4 + 1 + 4 + 16)
    rows = measure(time, 30, (16, 32, 64), other=Timed(time, 1 / 16))
    assert [runs(rows["other", length]) for length in (16, 32, 64)] == [3, 3, 3]
    assert time.now <= 30


def test_what_is_too_costly_is_left_out_before_it_is_tried(time: Time) -> None:
    rows = measure(time, 60, (16, 32, 64), other=Timed(time, 1 / 16), square=Timed(time, 1 / 256, 2))
    assert rows["square", 64].note == "a repetition would take about 16 s"
    assert runs(rows["square", 64]) == 0
    assert {name for name, row in rows.items() if row.note} == {("square", 64)}
    assert time.now <= 60
    rows = measure(time, 1, (16, 32), other=Timed(time, 1.0))
    assert runs(rows["other", 16]) == 1  # nobody knew
    assert rows["other", 32].note == "a repetition would take about 32 s"
    assert runs(rows["model", 32]) == 1  # it costs nothing
    rows = measure(time, 10, (16, 256), other=Timed(time, 1 / 16))  # lengths between them tell the costs alone
    assert sorted({length for _, length in rows}) == [16, 256]
    assert rows["other", 256].note == "a repetition would take about 16 s"
    assert time.now == 2 + 4


def test_a_bar_never_goes_back_and_reaches_its_end() -> None:
    heard: list[Progress] = []
    settings = BenchConfig(lengths=(16, 32), workloads=("encode",), repeats=2)
    systems = {"model": Subject(POOLED, CONDITIONS)}
    LengthSweep(systems, settings, CONDITIONS, lambda: 60.0, heard.append, no_op).measure()
    assert heard.pop(0) == Progress("bench: warm-up", 0, 1, {"encode": "model"})
    assert [each.done for each in heard] == [0, 1, 2, 3, 5, 7, 9]
    assert {each.total for each in heard} == {9}
    assert heard[0].metrics == {"encode": "16 tokens, model"}


def test_a_document_may_have_a_single_token(time: Time) -> None:
    assert runs(measure(time, 60, (1,))["model", 1]) == 5


def test_long_documents_are_approached_in_steps() -> None:
    assert with_steps([512, 1024]) == [512, 1024]
    assert with_steps([65536]) == [1024, 4096, 16384, 65536]
    assert with_steps([64, 8192]) == [64, 256, 1024, 4096, 8192]
    assert with_steps([5000]) == [1024, 4096, 5000]


POOLED_SETTINGS = BenchConfig(lengths=(64, 16, 32), batch=3, target=5, generate=2, repeats=2)
QUICK = BenchConfig(lengths=(32,), target=5, generate=2, repeats=1)


def encode_operations(length: int, seen: int) -> int:
    """Count products by hand: projections and feed-forward, scores and mixing over `seen` keys."""
    dim, width, layers = 16, 32, 2
    layer = 2 * length * (4 * dim * dim + 2 * dim * width) + 2 * 2 * length * seen * dim
    return POOLED_SETTINGS.batch * layers * layer


@pytest.fixture(scope="module")
def found(small_probes: None) -> Result:
    del small_probes
    return measure_models(POOLED, POOLED_SETTINGS, CONDITIONS)


def test_every_model_and_the_machine_are_measured_at_every_work_and_length(found: Result) -> None:
    rows = found.rows["models"]
    expected = product(WORKLOADS, (16, 32, 64), ("model", "blockwise", "vanilla"))
    assert [(row["workload"], row["length"], row["model"]) for row in rows] == [*expected]
    assert all(row.timing is not None and len(row.timing.seconds) == 2 for row in rows)
    assert all(row["batch"] == 3 and row.note == "" for row in rows)
    speeds, rates = found.rows["machine_speed"], ("fp32 products", "memory read", "memory copied")
    assert {(row["rate"], row["length"]) for row in speeds} == {*product(rates, (16, 32, 64))}
    assert {len(row.timing.seconds) for row in speeds if row.timing} == {2}


def test_counted_operations_and_bytes_are_those_of_the_hand_formula(found: Result) -> None:
    encoded = where(found.rows["models"], {"workload": "encode"})
    counted = {(row["model"], row["length"]): row["operations"] for row in encoded}
    for length in (16, 32, 64):
        assert counted["model", length] == counted["blockwise", length] == encode_operations(length, 8)
        assert counted["vanilla", length] == encode_operations(length, length)
    document = Documents.random(1, 32, 1, CONDITIONS)
    profile = profile_model(Subject(POOLED, CONDITIONS).model, document, POOLED_SETTINGS.beams)
    (row,) = where(encoded, {"model": "model", "length": 32})
    assert row["step_bytes"] == 4 * (profile.weights + POOLED_SETTINGS.batch * profile.cached)


def test_a_system_that_runs_out_of_memory_later_leaves_the_others(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    other, left = Timed(time, 1.0), [None] * 3  # in the warm-up twice, and in the attempt
    monkeypatch.setattr(other, "encode", Mock(side_effect=chain(left, repeat(MemoryError()))))
    found = measure(time, 1000, (16,), other=other)
    assert (found["other", 16].note, runs(found["other", 16])) == ("out of memory", 0)
    assert runs(found["model", 16]) == 5


def test_the_end_of_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    works = [None] * 6  # three models warm up twice
    monkeypatch.setattr(Subject, "train", Mock(side_effect=chain(works, repeat(torch.OutOfMemoryError()))))
    rows = measure_models(POOLED, QUICK, CONDITIONS).rows["models"]
    assert {row.note for row in where(rows, {"workload": "train"})} == {"out of memory"}
    assert all(row.timing for row in rows if row["workload"] != "train")


def test_libraries_are_warm_before_memory_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Mock()
    monkeypatch.setattr(Subject, "encode", encode)
    monkeypatch.setattr("sumpool.bench.workload.peak", Mock(side_effect=MemoryError))
    measure_models(POOLED, QUICK.model_copy(update={"workloads": ("encode",)}), CONDITIONS)
    assert [call.args[0].ids.shape for call in encode.call_args_list] == [(1, 16)] * 3


SMALL = ("bench.target=4", "bench.generate=2", "bench.repeats=1")


def test_a_recipe_needs_no_data(tiny_recipe: Path) -> None:
    heard: list[Progress] = []
    found = bench(tiny_recipe, overrides=SMALL, lengths=(16, 32), report=heard.append)
    assert {(row["model"], row["length"]) for row in found.result.rows["models"]} == {
        (model, length) for model in ("model", "blockwise", "vanilla") for length in (16, 32)
    }
    assert heard.pop(0).note == "this takes at most about 540 s; bench.seconds changes that"
    warm_up = [each for each in heard if each.task == "bench: warm-up"]
    assert [each.done for each in warm_up] == list(range(9))
    heard = heard[9:]
    assert [each.done for each in heard] == sorted(each.done for each in heard)
    assert {each.total for each in heard} == {heard[-1].done} == {2 * 9 + 2 * 2 * 9}  # 32 tokens count twice
    assert {"encode": "32 tokens, vanilla"} in [progress.metrics for progress in heard]
    assert found.settings["bench"]["lengths"] == (16, 32)
    assert json.loads(found.to_json())["recipe"] == "tiny"
    assert len(found.tables()) == 7


@pytest.mark.slow
def test_a_run_folder_is_a_recipe_too(run_folder: Path) -> None:
    found = bench(run_folder, overrides=(*SMALL, "bench.precision=bf16", "train.precision=fp32"), lengths=(300,))
    assert found.recipe == "random"
    assert found.precision == "bf16 of encoding and generation, fp32 of training"
    rows = found.result.rows["models"]
    assert {row["length"] for row in rows} == {300}  # more than the model reads in use
    precisions = {("encode", "bf16"), ("train", "fp32"), ("generate", "bf16")}
    assert {(row["workload"], row["precision"]) for row in rows} == precisions


@pytest.mark.slow
def test_without_a_target_the_newest_run_or_a_small_model_is_measured(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heard: list[Progress] = []
    encode = (*SMALL, "bench.workloads=[encode]")
    found = bench(overrides=(*encode, "model.dim=16"), lengths=(32,), report=heard.append)
    assert (found.recipe, found.settings["vocabulary"]) == ("quickstart", 6000)
    assert heard[0].note == "there is no run in runs: measuring the model of the quickstart"
    heard.clear()
    monkeypatch.setattr("sumpool.inference.run_files.RUNS", run_folder.parent)
    assert bench(overrides=encode, lengths=(32,), report=heard.append).recipe == "random"
    assert heard[0].note == f"measuring the newest run, {run_folder}"


def test_a_run_has_the_vocabulary_of_its_own_tokenizer() -> None:
    small = ("bench.workloads=[encode]", "bench.baselines=[]", "bench.repeats=1")
    found = bench("shipped", overrides=(*small, "data.tokenizer=nowhere"), lengths=(16,))
    assert found.settings["vocabulary"] == load_tokenizer(SHIPPED).vocab_size


def test_wrong_settings_are_errors(tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match=r"bench\.lengths\[0\] must be at least 1, got 0"):
        bench(tiny_recipe, lengths=(0,))
    monkeypatch.setattr("sumpool.training.hardware.has_int8", lambda: False)
    with pytest.raises(RecipeError, match=r"bench\.precision must be 'auto', .* got 'int8'"):
        bench(tiny_recipe, overrides=("bench.precision=int8",))


@pytest.mark.slow
def test_peers_take_part_and_say_what_they_cannot(tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.bench.peers.build_peers", lambda *_: {"theirs": Timed(Time(), 1.0)})
    found = bench(tiny_recipe, overrides=[*SMALL, "bench.baselines=[vanilla]"], lengths=(32,), peers=True)
    rows = found.result.rows["models"]
    assert {row["model"] for row in rows} == {"model", "vanilla", "theirs"}
    theirs = {row["workload"]: row for row in where(rows, {"model": "theirs"})}
    assert theirs["encode"].timing is not None
    assert theirs["encode"]["precision"] == "encode16"
    assert theirs["encode"]["operations"] is None  # nothing that is counted took place
    assert [theirs[workload].note for workload in WORKLOADS] == ["", "it does not learn", "it does not write"]
    assert found.precision.endswith("of training, the fastest of each peer")


def test_a_signal_leaves_nothing(tiny_recipe: Path) -> None:
    def stop() -> None:
        raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted, match="stopped by SIGTERM; a benchmark that is not finished keeps nothing"):
        bench(tiny_recipe, overrides=SMALL, lengths=(32,), check=stop)
