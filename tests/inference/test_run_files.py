import os
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError
from sumpool.inference.run_files import USED, choose_model, describe_choice, models_of, newest_run, use_model
from sumpool.io.manifest import RUNS, SHIPPED


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make_run(name: str, seconds: int | None = None) -> Path:
    folder = RUNS / name
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").touch()
    if seconds is not None:
        (folder / "model.safetensors").touch()
        os.utime(folder / "model.safetensors", (seconds, seconds))
    return folder


def test_the_newest_run_with_a_model_is_taken() -> None:
    with pytest.raises(CheckpointError, match="must hold a trained model, got none; run `sumpool train"):
        newest_run()
    newest = make_run("b", 3)
    make_run("a", 2)
    make_run("unfinished")
    (RUNS / "c").mkdir()
    assert newest_run() == newest


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_recipes_without_an_end_are_passed_over() -> None:
    newest = make_run("b", 3)
    for name in ("device", "pipe"):
        (make_run(name, 4) / "recipe.yaml").unlink()
    (RUNS / "device" / "recipe.yaml").symlink_to("/dev/zero")
    os.mkfifo(RUNS / "pipe" / "recipe.yaml")
    assert newest_run() == models_of()[0] == newest


def test_a_run_summarises_only_if_it_is_named_or_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_choice() == "shipped (no run in runs)"
    toy = make_run("toy", 3)
    assert choose_model() == choose_model(Path("shipped")) == SHIPPED
    assert describe_choice() == "shipped (take runs/toy by --model or `sumpool use`)"
    assert describe_choice(toy) == str(choose_model(toy)) == str(toy)
    use_model(toy)
    assert choose_model() == toy
    assert describe_choice() == "runs/toy (marked by `sumpool use`)"
    make_run("newer", 4)
    monkeypatch.chdir(tmp_path.rename(tmp_path.with_name("moved")))
    assert choose_model() == toy
    use_model(Path("shipped"))
    assert choose_model() == SHIPPED


def test_a_mark_must_name_a_model_of_summaries() -> None:
    with pytest.raises(CheckpointError, match=r"must be a run folder with recipe.yaml and model.safetensors, got none"):
        use_model(make_run("unfinished"))
    labels = make_run("labels", 1)
    (labels / "recipe.yaml").write_text("task: classification\n")
    with pytest.raises(CheckpointError, match="must be a run of task: summarization, got task: classification"):
        use_model(labels)
    use_model(make_run("gone", 1))
    assert (RUNS / USED).read_text() == "gone\n", "relative to the folder of runs"
    (RUNS / "gone" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r".used must name a run folder .*; run `sumpool use shipped`, or name"):
        choose_model()
