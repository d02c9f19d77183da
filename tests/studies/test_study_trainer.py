"""A tiny run beside a tiny LED, to the end: both are real, and take seconds."""

import importlib.util
import json
import shutil
import signal
from dataclasses import asdict
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from sumpool.data.shards import Shard
from sumpool.errors import CheckpointError, DataError, Interrupted, RecipeError
from sumpool.io.manifest import Manifest
from sumpool.progress import Progress
from sumpool.recipe.load import load_recipe
from sumpool.runs.dry_run import DryRun
from sumpool.runs.run_metrics import DRY_RUN
from sumpool.studies import trainer as side_by_side
from sumpool.studies.config import TrainerConfig
from sumpool.studies.run import run_study
from sumpool.studies.study import load_study
from sumpool.workflows.train import train

pytest.importorskip("transformers")
pytest.importorskip("accelerate")


@pytest.fixture(scope="module")
def finished(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run of `trained`, which gets an evaluation."""
    return Path(shutil.copytree(trained / "run", tmp_path_factory.mktemp("trainer") / "run"))


@pytest.mark.usefixtures("ticking")
def test_a_run_and_led_stand_side_by_side(finished: Path) -> None:
    heard: list[Progress] = []
    report = run_study("trainer", finished, overrides=["study.seconds=0.4"], report=heard.append)
    assert (report.recipe, report.suite) == ("toy", "trainer")
    assert {"transformers", "accelerate"} <= report.versions.keys()
    table, losses = report.result.facts["table"], report.result.facts["losses"]
    run, led = table["systems"]
    assert (run["name"], led["name"]) == ("toy", "LED")
    assert run["steps"] == [4]
    assert led["steps"][0] > 1
    assert led["parameters"] != run["parameters"]
    assert [len(curve) for curve in losses] == [2, 2]
    assert table["target_loss"] == max(curve[-1][1] for curve in losses)
    assert losses[1][-1][0] == pytest.approx(0.4, abs=0.2)
    assert None not in (*run["seconds_to_target"], *led["seconds_to_target"])
    assert led["validation_loss"] == [min(loss for _, loss in losses[1])]
    assert report.result.facts["summaries"].keys() == {line["id"] for line in lines(finished)}
    for system in (run, led):
        assert system["tokens_per_second"]
        assert all(0 <= score["low"] <= score["mean"] <= score["high"] <= 1 for score in system["rouge"].values())
    first, second, third = report.tables()
    assert "machine" in first.headings()
    assert [cells[0] for cells in second.cells()] == ["toy", "LED"]
    assert dict(zip(second.headings(), second.cells()[0], strict=True))["updates"] == "4"
    assert any("among ours its peers are runs with model.output: {kind: tied}" in note for note in second.notes)
    assert len(third.rows) == 2
    assert json.loads(report.to_json())["table"]["systems"][1]["name"] == "LED"
    assert any(note.startswith("LED after") for note in (progress.note for progress in heard))


def lines(run: Path) -> list[dict[str, str]]:
    path = run / "evaluation" / "validation" / "documents.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_figures_of_the_run_are_taken_from_its_folder_and_what_led_wrote_is_scored(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it the references themselves, nothing could be better."""
    shard = Shard.open(load_recipe(finished).data.prepared or finished, "validation")
    run = shutil.copytree(finished, tmp_path / "run")
    tried = DryRun(1, 1, 1, 1, seconds=123.0, peak_memory=7 << 20, device="cpu")
    (run / DRY_RUN).write_text(json.dumps(asdict(tried)))
    references = [shard.text(place).summary for place in range(len(shard))]
    monkeypatch.setattr(side_by_side, "_summaries", lambda *_: references)
    found = run_study("trainer", run, overrides=["study.seconds=0.1", "study.loss=100"]).result
    assert found.facts["table"]["systems"][0]["peak_memory"] == 7 << 20
    assert found.facts["table"]["target_loss"] == 100
    assert any("longest batch took 123 s when the run was judged, and" in note for note in found.tables[0].notes)
    assert found.facts["table"]["systems"][1]["rouge"]["rouge2"]["mean"] == 1


def test_a_run_must_be_finished(finished: Path, tmp_path: Path) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    manifest = Manifest.read(run)
    Manifest(manifest.files, {name: fact for name, fact in manifest.facts.items() if name != "finished"}).write(run)
    with pytest.raises(CheckpointError, match=r"run must be a run whose training is finished, .*; let it go on"):
        run_study("trainer", run)


def test_a_run_must_have_learnt(finished: Path, tmp_path: Path) -> None:
    recipe = load_recipe(finished, [f"train.init_from={finished}", "train.steps=0"])
    with pytest.raises(RecipeError, match=r"run must have learnt for LED to learn as long, but its train\.steps is 0"):
        run_study("trainer", train(recipe, tmp_path / "run"))


def test_other_data_is_refused(finished: Path, tmp_path: Path) -> None:
    prepared = load_recipe(finished).data.prepared
    assert prepared is not None
    other = shutil.copytree(prepared, tmp_path / "other")
    facts = Manifest.read(other, "prepared data").facts
    Manifest({}, facts, kind="prepared data").write(other)
    with pytest.raises(DataError, match=r"other must hold the data that .*run was trained on, got other data"):
        run_study("trainer", finished, overrides=[f"data.prepared={other}"])


@pytest.mark.parametrize("hidden", ["transformers", "accelerate"])
def test_both_libraries_must_be_installed(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> ModuleSpec | None:
        return None if name == hidden else importlib.util.find_spec(name)

    monkeypatch.setattr("sumpool.bench.peers.build.find_spec", find)
    expected = rf"study trainer must have {hidden}, which is not installed: pip install 'sumpool\[peers\]'"
    with pytest.raises(RecipeError, match=expected):
        run_study("trainer")


def test_settings_are_checked(finished: Path) -> None:
    for change, message in (
        ("study.seconds=0", r"study trainer: study\.seconds must"),
        ("model.dim=8", r"study trainer: model is not a setting"),
        ("study.lengths=[3]", r"study trainer: study\.lengths is not a setting"),
    ):
        with pytest.raises(RecipeError, match=message):
            run_study("trainer", finished, overrides=[change])


def test_the_run_decides_what_is_not_set() -> None:
    settings = load_study("trainer", TrainerConfig).study
    assert settings == TrainerConfig(seconds="auto", learning_rate="auto", loss="auto")


def test_a_signal_leaves_nothing_of_led(finished: Path) -> None:
    stopping = False

    def stop() -> None:
        if stopping:
            raise Interrupted(signal.SIGTERM)

    def hear(progress: Progress) -> None:
        nonlocal stopping
        stopping = progress.task == "LED"

    with pytest.raises(Interrupted, match="keeps nothing"):
        run_study("trainer", finished, report=hear, check=stop)
