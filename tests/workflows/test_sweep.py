"""A sweep as a command sees it: several rows and seeds on toy data, to the end, stopped, and with rows that fail."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from sumpool.data.batches import Position, TrainingData, updates_from
from sumpool.data.shards import Shard
from sumpool.errors import Interrupted, NonFiniteError, RecipeError
from sumpool.progress import Progress, no_op
from sumpool.recipe.load import load_recipe
from sumpool.workflows import sweep as workflow
from sumpool.workflows.sweep import LoadedSweep, SweepTable, load_sweep, plan_runs, sweep
from sumpool.workflows.train import train
from tests.conftest import SHARES, TOY

pytestmark = pytest.mark.slow

TOKENS = 500
SweepWith = Callable[..., LoadedSweep]


@pytest.fixture(scope="module")
def corner(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep over the prepared data of `trained`."""
    folder = tmp_path_factory.mktemp("sweep")
    recipe = TOY.replace("rows.jsonl", SHARES).format(folder=trained).replace("\n", "\n  ").removeprefix("name: toy")
    (folder / "toy.yaml").write_text(
        f"""\
sweep: toy
seeds: [1, 2]
source_tokens: {TOKENS}
recipe:{recipe}
  train: {{batch_tokens: 128, validate_every: 2, rouge_documents: 0, device: cpu, precision: fp32}}
  summarize: {{beams: 1}}
  evaluate: {{resamples: 100}}
  select: {{enabled: false}}
rows:
  blockwise:
  halving: {{"model.encoder[0].pool": {{kind: halving, keep: 16}}}}
"""
    )
    return folder


@pytest.fixture
def sweep_with(corner: Path) -> SweepWith:
    """The sweep with other settings."""

    def change(*overrides: str) -> LoadedSweep:
        return load_sweep(corner / "toy.yaml", overrides)

    return change


@pytest.fixture(scope="module")
def whole(corner: Path) -> tuple[Path, SweepTable]:
    """Folder and table of an uninterrupted sweep."""
    return corner / "whole", sweep(load_sweep(corner / "toy.yaml"), corner / "whole")


def test_every_row_and_seed_is_trained_scored_and_tabulated(trained: Path, whole: tuple[Path, SweepTable]) -> None:
    folder, table = whole
    assert [(name, [run.recipe.seed for run in runs]) for name, runs in table.runs.items()] == [
        ("blockwise", [1, 2]),
        ("halving", [1, 2]),
    ]
    blockwise, halving = table.runs.values()
    assert halving[0].parameters == blockwise[0].parameters + 17  # the scorer of 16 features
    for name, runs in table.runs.items():
        assert all(run.loss > 0 and run.tokens_per_second for run in runs)
        for score, by_seed in table.scores[name].values():
            assert 0 <= score.low <= score.mean <= score.high <= 1
            assert score.mean == pytest.approx(sum(by_seed) / 2)
    lines = (folder / "table.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in lines[:4]] == ["| row", "| ---", "| blockwise", "| halving"]
    assert {line.count(" | ") for line in lines[:4]} == {10}
    assert json.loads((folder / "table.json").read_text())["runs"][2]["row"] == "halving"
    recipe = load_recipe(folder / "halving-seed2")
    assert (recipe.name, recipe.seed, recipe.data.prepared) == ("halving-seed2", 2, trained / "prepared")


def test_a_run_makes_the_fewest_updates_that_read_the_budget(
    trained: Path, tmp_path: Path, sweep_with: SweepWith
) -> None:
    loaded = sweep_with("train.accumulate=2", "seeds=[1,2,3,4,5,6]", "source_tokens=860")
    counts: set[int] = set()
    for run in plan_runs(loaded, tmp_path, no_op, no_op):
        config = run.recipe.train
        shards = [Shard(trained / "prepared", split) for split in ("train", "validation")]
        material = TrainingData(shards[0], shards[1], 64, 16, run.recipe.seed)
        updates = updates_from(Position(), material.epochs(config.batch_tokens), 2)
        read = [
            sum(int(material.batch(material.training, batch).mask.sum()) for batch in next(updates)[0])
            for _ in range(config.steps)
        ]
        assert sum(read[:-1]) < loaded.settings.source_tokens <= sum(read)
        counts.add(config.steps)
    assert len(counts) > 1  # batches differ by seed


def test_a_stopped_sweep_goes_on_and_repeats_nothing(
    tmp_path: Path, sweep_with: SweepWith, whole: tuple[Path, SweepTable]
) -> None:
    runs: list[str] = []

    def stop_at_the_third_update_of_the_third_run(progress: Progress) -> None:
        runs.extend([progress.note] if ": run " in progress.note else [])
        if len(runs) == 3 and progress.task == "train" and progress.done == 3:
            raise Interrupted(signal.SIGINT)

    with pytest.raises(Interrupted, match="SIGINT"):
        sweep(sweep_with(), tmp_path / "toy", report=stop_at_the_third_update_of_the_third_run)
    table_so_far = json.loads((tmp_path / "toy" / "table.json").read_text())
    assert {run["row"] for run in table_so_far["runs"]} == {"blockwise"}
    finished = tmp_path / "toy" / "blockwise-seed1"
    before = {path: path.stat().st_mtime_ns for path in finished.iterdir() if path.is_file() and path.name != ".lock"}
    heard: list[Progress] = []
    table = sweep(sweep_with(), tmp_path / "toy", report=heard.append)
    assert {f"{finished} is finished", "resuming from step 3"} <= {progress.note for progress in heard}
    evaluated = next(progress for progress in heard if progress.task == "evaluate" and not progress.note)
    assert evaluated.done == evaluated.total
    assert {path: path.stat().st_mtime_ns for path in before} == before
    folder, expected = whole
    weights = [
        {path.parent.name: path.read_bytes() for path in each.glob("*/model.safetensors")}
        for each in (tmp_path / "toy", folder)
    ]
    assert weights[0] == weights[1]
    assert table.scores == expected.scores
    losses = [[run.loss for runs in each.runs.values() for run in runs] for each in (table, expected)]
    assert losses[0] == losses[1]


def test_a_row_that_fails_is_a_line_and_is_tried_again(
    tmp_path: Path, sweep_with: SweepWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overflow(recipe: Any, *arguments: Any, report: Any, check: Any) -> Path:  # noqa: ANN401
        if recipe.name == "blockwise-seed1":
            raise NonFiniteError("loss and gradient of step 4 must be finite, got loss nan")
        if recipe.name.startswith("halving"):
            raise MemoryError
        return train(recipe, *arguments, report=report, check=check)

    monkeypatch.setattr(workflow, "train", overflow)
    loaded = sweep_with("source_tokens=1")
    heard: list[Progress] = []
    blockwise, halving = sweep(loaded, tmp_path / "toy", report=heard.append).runs.values()
    assert [bool(run.failure) for run in blockwise] == [True, False]
    assert [run.failure for run in halving] == ["memory ran out", "memory ran out"]
    note = "blockwise-seed1 failed: loss and gradient of step 4 must be finite, got loss nan"
    assert note in [progress.note for progress in heard]
    monkeypatch.undo()
    again = sweep(loaded, tmp_path / "toy").runs.values()
    assert [[run.failure for run in runs] for runs in again] == [["", ""], ["", ""]]


def test_other_ways_of_writing_are_scored_anew(tmp_path: Path, sweep_with: SweepWith) -> None:
    overrides = ("seeds=[1]", "source_tokens=1")
    sweep(sweep_with(*overrides), tmp_path / "toy")
    sweep(sweep_with(*overrides, "summarize.max_length=2", "summarize.min_length=2"), tmp_path / "toy")
    identity = json.loads((tmp_path / "toy/blockwise-seed1/evaluation/validation/evaluation.json").read_text())
    assert json.loads(identity["decoding"])["max_length"] == 2


def test_a_bug_is_no_line_of_the_table(tmp_path: Path, sweep_with: SweepWith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "train", Mock(side_effect=ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        sweep(sweep_with(), tmp_path / "toy")


def test_rows_that_the_machine_cannot_train_are_named_before_anything_runs(
    tmp_path: Path, sweep_with: SweepWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(RecipeError, match=r"(?s)2 rows cannot be trained.*rows\.blockwise: .*cuda.*rows\.halving: "):
        sweep(sweep_with("train.device=cuda"), tmp_path / "toy")
    assert not (tmp_path / "toy").exists()
