from collections.abc import Iterator
from itertools import chain, repeat
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.config import BenchConfig
from sumpool.bench.measures.timing import Work
from sumpool.bench.models import climb
from sumpool.bench.models.found import FoundModels
from sumpool.bench.models.measure import measure_models
from sumpool.bench.models.rows import ModelRow
from sumpool.bench.systems.workload import WORKS, Conditions, Documents, Subject
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.output.tied import TiedOutputConfig
from sumpool.core.pooling.halving import HalvingPoolerConfig

pytestmark = pytest.mark.usefixtures("small_probes")
CONDITIONS = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
SETTINGS = BenchConfig(lengths=(64, 16, 32), batch=3, target=5, generate=2, repeats=2)
QUICK = BenchConfig(lengths=(32,), target=5, generate=2, repeats=1)
DIM, WIDTH, BLOCK, KEEP, LAYERS = 16, 32, 8, 8, 2
CONFIG = ModelConfig(
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
    return SETTINGS.batch * (LAYERS * layer + 2 * scored * DIM)


@pytest.fixture(scope="module")
def found(small_probes: None) -> FoundModels:
    del small_probes
    return measure_models(CONFIG, SETTINGS, CONDITIONS)


@pytest.fixture(scope="module")
def rows(found: FoundModels) -> tuple[ModelRow, ...]:
    return found.models


def quick(settings: BenchConfig = QUICK) -> tuple[ModelRow, ...]:
    return measure_models(CONFIG, settings, CONDITIONS).models


def test_every_model_is_measured_at_every_work_and_length(rows: tuple[ModelRow, ...]) -> None:
    expected = [
        (work, name, length) for work in WORKS for length in (16, 32, 64) for name in ("model", "blockwise", "vanilla")
    ]
    assert [(row.work, row.model, row.length) for row in rows] == expected
    assert all(row.timing is not None and len(row.timing.seconds) == 2 for row in rows)
    assert all(row.batch == 3 and row.note == "" for row in rows)


def test_counted_operations_are_those_of_the_hand_formula(rows: tuple[ModelRow, ...]) -> None:
    counted = {(row.model, row.length): row.operations for row in rows if row.work == "encode"}
    for length in (16, 32, 64):
        assert counted["model", length] == encode_operations(length, BLOCK, scored=length)
        assert counted["blockwise", length] == encode_operations(length, BLOCK, scored=0)
        assert counted["vanilla", length] == encode_operations(length, length, scored=0)


def test_growth_of_what_was_measured(found: FoundModels) -> None:
    growth = {(row.work, row.model, row.cost): row for row in found.growth}
    assert growth["encode", "model", "operations"].growth.exponent == pytest.approx(1.0)
    assert growth["encode", "vanilla", "operations"].growth.exponent > 1.2
    assert growth["train", "model", "seconds"].lengths == (16, 32, 64)


def test_layout_is_what_leaves_each_layer(rows: tuple[ModelRow, ...]) -> None:
    found = {(row.model, row.length): row.layout for row in rows}
    assert found["model", 64] == (64, KEEP)
    assert found["vanilla", 32] == (32, 32)


def test_the_machine_takes_part_at_every_length(found: FoundModels) -> None:
    assert {(row.rate, row.length) for row in found.rates} == {
        (rate, length) for rate in ("fp32 products", "memory read", "memory copied") for length in (16, 32, 64)
    }
    assert {len(row.timing.seconds) for row in found.rates} == {2}


def test_works_are_chosen(small_probes: None) -> None:
    del small_probes
    found = measure_models(CONFIG, QUICK.model_copy(update={"works": ("generate",)}), CONDITIONS)
    assert {row.work for row in found.models} == {"generate"}
    assert found.steps == ()


def test_a_length_that_may_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Iterator[int] = chain([2**29] * 9, repeat(2**30))  # three models warm up at three works

    def peak(work: Work, device: torch.device) -> int:
        del device
        work()
        return next(found)

    monkeypatch.setattr(climb, "peak", peak)
    monkeypatch.setattr(climb, "available", Mock(return_value=2**31))
    rows = quick(QUICK.model_copy(update={"lengths": (32, 64)}))
    assert {row.note for row in rows if row.length == 32} == {""}
    assert {row.note for row in rows if row.length == 64} == {"may need 2.5 GiB, 2.0 GiB are free"}
    assert all(row.timing is None and row.operations is None for row in rows if row.length == 64)


@pytest.mark.parametrize(
    "error",
    [MemoryError(), torch.OutOfMemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 1 bytes")],
)
def test_the_end_of_memory_is_said(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(
        Subject, "train", Mock(side_effect=chain([None] * 6, repeat(error)))
    )  # warms up twice, then fails
    rows = quick()
    assert {row.note for row in rows if row.work == "train"} == {"memory ended"}
    assert all(row.timing for row in rows if row.work != "train")


def test_libraries_are_warm_before_memory_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Mock()
    monkeypatch.setattr(Subject, "encode", encode)
    monkeypatch.setattr(climb, "peak", Mock(side_effect=MemoryError))
    quick()
    assert [call.args[0].ids.shape for call in encode.call_args_list] == [(1, 16)] * 3


def test_other_errors_are_not_taken_for_the_end_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subject, "encode", Mock(side_effect=RuntimeError("shapes do not fit")))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        measure_models(CONFIG, QUICK, CONDITIONS)


class MemoryEncoder:
    """A peer that only reads, outside torch."""

    def encode(self, documents: Documents) -> None:
        assert documents.ids.shape in ((1, 16), (1, 32))  # it is warmed up with half of the length

    def train(self, documents: Documents) -> None:
        raise NotImplementedError("it does not learn")

    def generate(self, documents: Documents, beams: int, tokens: int) -> None:
        raise NotImplementedError("it does not write")


def test_peers_take_part_and_say_what_they_cannot() -> None:
    rows = measure_models(CONFIG, QUICK, CONDITIONS, {"theirs": MemoryEncoder()}).models
    theirs = {row.work: row for row in rows if row.model == "theirs"}
    assert theirs["encode"].timing is not None
    assert theirs["encode"].operations is None  # nothing that is counted took place
    assert {work: row.note for work, row in theirs.items()} == {
        "encode": "",
        "train": "it does not learn",
        "generate": "it does not write",
    }


def test_check_may_stop_it() -> None:
    def check() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_models(CONFIG, QUICK, CONDITIONS, check=check)
