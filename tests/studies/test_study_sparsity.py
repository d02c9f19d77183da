import json
import signal
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sumpool.bench.results import unique, where
from sumpool.data.prepared_folder import write_manifest
from sumpool.data.shards import Item, ShardWriter
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.errors import DataError, Interrupted, RecipeError
from sumpool.progress import Progress, no_op
from sumpool.studies.run import run_study

pytestmark = pytest.mark.slow

SMALL = (
    "study.documents=3",
    "study.length=16",
    "study.targets=[1, 2, 3]",
    "study.surface_lengths=[8, 12, 16]",
    "study.repeats=1",
)


def prepare(folder: Path, documents: int) -> list[str]:
    """Write validation documents, and say where they are."""
    folder = folder / "prepared"
    random = np.random.default_rng(5)
    with ShardWriter(folder, "validation", 300) as shard, TextsWriter(folder, "validation") as texts:
        for number in range(documents):
            ids = random.integers(5, 300, 60)
            shard.add(Item(str(number), ids, np.arange(60) // 9, random.integers(5, 300, 7)))
            texts.add(Example(id=str(number), document="", summary="", split="validation"))
    write_manifest(folder, {}, no_op)
    return [*SMALL, f"data.prepared={folder}"]


def test_a_trained_model_is_looked_at_and_its_shape_is_timed(run_folder: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    found = run_study(
        "sparsity", run_folder, overrides=[*prepare(tmp_path, 7), "study.surface_lengths=[4,6,10]"], report=heard.append
    )
    assert (found.recipe, found.suite) == ("random", "sparsity")
    assert found.result.facts["documents"] == 3
    assert {*unique(where(found.result.rows["times"], {"mode": "surface"}), "length")} == {4, 6, 10}
    kept = found.result.rows["layers"][0]["kept"]
    assert list(kept) == sorted(kept)
    assert kept[-1] == pytest.approx(1)
    assert json.loads(found.to_json())["settings"]["study"]["documents"] == 3
    assert len(found.tables()) == 6
    assert heard[-1].done == heard[-1].total


def test_selections_are_compared_by_the_loss_of_the_same_weights(run_folder: Path, tmp_path: Path) -> None:
    found = run_study("sparsity", run_folder, overrides=[*prepare(tmp_path, 7), "study.loss_sentences=[1, 30]"]).result
    losses = {row["selection"]: dict(row["nats"]) for row in found.rows["losses"]}
    assert list(losses) == ["full", "ideal", "random", "model_free"]
    full = losses.pop("full")
    assert full[1] == full[30]
    for nats in losses.values():
        assert nats[30] == pytest.approx(full[30], abs=1e-5)  # no document has so many sentences
        assert nats[1] != pytest.approx(full[1], abs=1e-5)


def test_progress_ends_where_there_are_fewer_documents(run_folder: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    found = run_study("sparsity", run_folder, overrides=prepare(tmp_path, 2), report=heard.append)
    assert found.result.facts["documents"] == 2
    assert heard[-1].done == heard[-1].total


def test_there_must_be_documents(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="validation must hold a document with a summary, got none"):
        run_study("sparsity", run_folder, overrides=prepare(tmp_path, 0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("study.targets=[1, 2]",), r"study sparsity: study\.targets must .*3"),
        (("study.beams=2",), r"study\.beams is not a setting of study"),
    ],
)
def test_settings_are_checked(changes: Sequence[str], message: str, run_folder: Path) -> None:
    with pytest.raises(RecipeError, match=message):
        run_study("sparsity", run_folder, overrides=changes)


def test_a_cross_attention_without_keys_is_refused(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = Mock(side_effect=ValueError("cross_attention must have query and key_value projections, got Other"))
    monkeypatch.setattr("sumpool.studies.sparsity.sentence_attention", refuse)
    with pytest.raises(RecipeError, match="study sparsity: cross_attention must have query and key_value projections"):
        run_study("sparsity", run_folder, overrides=prepare(tmp_path, 1))


def test_a_signal_leaves_nothing(run_folder: Path, tmp_path: Path) -> None:
    def stop() -> None:
        raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted, match="keeps nothing"):
        run_study("sparsity", run_folder, overrides=prepare(tmp_path, 1), check=stop)
