import json
import signal
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sumpool.bench.suites.sparsity_rows import FoundSparsity
from sumpool.data.batches import Item
from sumpool.data.shards import ShardWriter
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.errors import DataError, Interrupted, RecipeError
from sumpool.progress import Progress
from sumpool.workflows.bench_suites import bench_sparsity

SMALL = (
    "bench.documents=3",
    "bench.length=16",
    "bench.targets=[1, 2, 3]",
    "bench.surface_lengths=[8, 12, 16]",
    "bench.repeats=1",
)


def prepare(folder: Path, documents: int) -> list[str]:
    """Write validation documents, and say where they are."""
    random = np.random.default_rng(5)
    with ShardWriter(folder, "validation", 300) as shard, TextsWriter(folder, "validation") as texts:
        for number in range(documents):
            ids = random.integers(5, 300, 60)
            shard.add(Item(str(number), ids, np.arange(60) // 9, random.integers(5, 300, 7)))
            texts.add(Example(id=str(number), document="", summary="", split="validation"))
    return [*SMALL, f"data.prepared={folder}"]


def test_a_trained_model_is_looked_at_and_its_shape_is_timed(run_folder: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    found = bench_sparsity(run_folder, overrides=prepare(tmp_path, 7), lengths=(4, 6, 10), report=heard.append)
    assert (found.recipe, found.suite) == ("random", "sparsity")
    assert isinstance(found.found, FoundSparsity)
    assert found.found.documents == 3
    assert {length for _, length in found.found.surface.places} == {4, 6, 10}
    kept = found.found.layers[0].kept
    assert list(kept) == sorted(kept)
    assert kept[-1] == pytest.approx(1)
    assert json.loads(found.to_json())["settings"]["bench"]["documents"] == 3
    assert len(found.tables()) == 6
    assert heard[-1].done == heard[-1].total


def test_selections_are_compared_by_the_loss_of_the_same_weights(run_folder: Path, tmp_path: Path) -> None:
    found = bench_sparsity(run_folder, overrides=[*prepare(tmp_path, 7), "bench.seen=[1, 30]"]).found
    assert isinstance(found, FoundSparsity)
    losses = {row.selection: row.nats for row in found.losses}
    assert list(losses) == ["full", "ideal", "random", "model_free"]
    full = losses.pop("full")
    assert full[1] == full[30]
    for nats in losses.values():
        assert nats[30] == pytest.approx(full[30], abs=1e-5)  # no document has so many sentences
        assert nats[1] != pytest.approx(full[1], abs=1e-5)


def test_progress_ends_where_there_are_fewer_documents(run_folder: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    found = bench_sparsity(run_folder, overrides=prepare(tmp_path, 2), report=heard.append)
    assert isinstance(found.found, FoundSparsity)
    assert found.found.documents == 2
    assert heard[-1].done == heard[-1].total


def test_there_must_be_documents(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="validation must hold a document with a summary, got none"):
        bench_sparsity(run_folder, overrides=prepare(tmp_path, 0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("bench.targets=[1, 2]",), r"bench sparsity: bench\.targets must .*3"),
        (("bench.beams=2",), r"bench\.beams is not a setting of bench"),
    ],
)
def test_settings_are_checked(changes: Sequence[str], message: str, run_folder: Path) -> None:
    with pytest.raises(RecipeError, match=message):
        bench_sparsity(run_folder, overrides=changes)


def test_a_cross_attention_without_keys_is_refused(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = Mock(side_effect=ValueError("cross_attention must have query and key_value projections, got Other"))
    monkeypatch.setattr("sumpool.workflows.attention.sentence_attention", refuse)
    with pytest.raises(RecipeError, match="bench sparsity: cross_attention must have query and key_value projections"):
        bench_sparsity(run_folder, overrides=prepare(tmp_path, 1))


def test_a_signal_leaves_nothing(run_folder: Path, tmp_path: Path) -> None:
    def stop() -> None:
        raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted, match="keeps nothing"):
        bench_sparsity(run_folder, overrides=prepare(tmp_path, 1), check=stop)
