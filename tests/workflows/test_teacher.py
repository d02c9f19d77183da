import json
from pathlib import Path
from typing import Any

import pytest

from sumpool.errors import Interrupted, RecipeError
from sumpool.progress import no_op
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.runs.training_setup import TrainingSetup, set_up_training
from sumpool.workflows.train import data_with_teacher, dry_run, train
from tests.conftest import BARE, relist
from tests.tasks.classification.test_classify import write_recipe
from tests.training.toy import trace

LAYERS = ("train.loss_weights={hidden_states: 1, attention_maps: 0.5}",)


def recipe_of(folder: Path, *changes: str, teacher: Path | None = None) -> Recipe:
    """The recipe of `trained` with a teacher, by default the run of `trained`."""
    settings = (f"train.teacher={teacher or folder / 'run'}", "train.steps=6", "train.validate_every=3", *BARE)
    return load_recipe(folder / "toy.yaml", [*settings, *changes])


def setup_of(recipe: Recipe) -> TrainingSetup:
    return set_up_training(recipe, no_op, no_op)


def journal(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("changes", [(), LAYERS])
def test_a_run_with_a_teacher_resumes_exactly(trained: Path, tmp_path: Path, changes: tuple[str, ...]) -> None:
    recipe = recipe_of(trained, *changes)
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > stop:
            raise Interrupted(15)

    stop = 1_000_000
    setup_of(recipe)  # verifies files, which later runs of the process know
    train(recipe, tmp_path / "whole", check=check)
    quarter = calls // 4
    for quarters in (1, 2):
        stop, calls = quarters * quarter, 0
        with pytest.raises(Interrupted, match="SIGTERM"):
            train(recipe, tmp_path / "stopped", check=check)
    train(recipe, tmp_path / "stopped")
    whole, stopped = (trace(tmp_path / name) for name in ("whole", "stopped"))
    for files in (whole, stopped):
        for name in ("README.md", "manifest.json", "curves.svg"):
            files.pop(name, None)
    assert {name: stopped[name] for name in whole} == whole  # a stopped run may keep the checkpoint of its end too
    assert "by distillation from" in (tmp_path / "whole" / "README.md").read_text()


def test_words_are_learnt_from_the_distribution(trained: Path, tmp_path: Path) -> None:
    train(recipe_of(trained, "train.distillation_temperature=2"), tmp_path / "run")
    assert all("distillation" in record for record in journal(tmp_path / "run") if record["kind"] == "step")


def test_teachers_that_do_not_fit(trained: Path, tmp_path: Path) -> None:
    recipe = recipe_of(trained, teacher=tmp_path / "none")
    setup = setup_of(recipe)
    with pytest.raises(RecipeError, match=r"train\.teacher must be a run folder with model\.safetensors, got .*none"):
        data_with_teacher(recipe, setup)
    recipe = recipe_of(trained)
    with pytest.raises(RecipeError, match="must be another run than the one to train"):
        data_with_teacher(recipe, setup, trained / "run")
    for name, value in (("source_length", 65), ("target_length", 17)):
        longer = recipe_of(trained, f"model.{name}={value}")
        with pytest.raises(RecipeError, match=rf"model\.{name} must be at most that of train\.teacher, {value - 1}"):
            data_with_teacher(longer, setup)


def test_another_vocabulary_is_refused(trained: Path, tmp_path: Path) -> None:
    other = ("data.vocabulary=300", f"data.prepared={tmp_path / 'prepared'}")
    with pytest.raises(RecipeError, match=r"teacher must have the vocabulary of .*prepared, got another one in .*run"):
        train(recipe_of(trained, *other), tmp_path / "run")


def test_a_dry_run_needs_no_folder(trained: Path) -> None:
    assert dry_run(recipe_of(trained)).seconds > 0


def test_classifiers_learn_from_a_teacher(tmp_path: Path) -> None:
    path, prepared = write_recipe(tmp_path), f"data.prepared={tmp_path / 'prepared'}"
    teacher = train(load_recipe(path, [prepared, "train.steps=5"]), tmp_path / "large")
    changes = [prepared, "train.steps=5", f"train.teacher={teacher}"]
    run = train(load_recipe(path, changes), tmp_path / "small")
    assert all("distillation" in record for record in journal(run) if record["kind"] == "step")
    (teacher / "labels.json").write_text('{"labels": ["1", "0"]}')
    relist(teacher, "labels.json")
    with pytest.raises(RecipeError, match=r"train\.teacher must have the labels of .*prepared, got other"):
        train(load_recipe(path, changes), tmp_path / "other")
