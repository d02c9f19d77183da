import os
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError
from sumpool.inference.run_files import choose_model, describe_choice, models_of, newest_run, use_model
from sumpool.io.manifest import SHIPPED


def make_run(folder: Path, seconds: int | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").touch()
    if seconds is not None:
        (folder / "model.safetensors").touch()
        os.utime(folder / "model.safetensors", (seconds, seconds))
    return folder


def test_the_newest_run_with_a_model_is_taken(tmp_path: Path) -> None:
    newest = make_run(tmp_path / "b", 3)
    make_run(tmp_path / "a", 2)
    make_run(tmp_path / "unfinished")
    (tmp_path / "c").mkdir()
    assert newest_run(tmp_path) == newest


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_recipes_without_an_end_are_passed_over(tmp_path: Path) -> None:
    newest = make_run(tmp_path / "b", 3)
    for name in ("device", "pipe"):
        (make_run(tmp_path / name, 4) / "recipe.yaml").unlink()
    (tmp_path / "device" / "recipe.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe" / "recipe.yaml")
    assert newest_run(tmp_path) == models_of(tmp_path)[0] == newest


def test_a_run_summarises_only_if_it_is_named_or_marked(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert describe_choice(runs=runs) == f"shipped (no run in {runs})"
    toy = make_run(runs / "toy", 3)
    assert choose_model(None, runs) == choose_model(Path("shipped"), runs) == SHIPPED
    assert describe_choice(runs=runs) == f"shipped (take {toy} by --model or `sumpool use`)"
    assert describe_choice(toy, runs) == str(choose_model(toy, runs)) == str(toy)
    use_model(toy, runs)
    assert choose_model(None, runs) == toy
    assert describe_choice(runs=runs) == f"{toy} (marked by `sumpool use`)"
    make_run(runs / "newer", 4)
    moved = tmp_path.rename(tmp_path.with_name("moved")) / "runs"
    assert choose_model(None, moved) == moved / "toy"
    use_model(Path("shipped"), moved)
    assert choose_model(None, moved) == SHIPPED


def test_a_mark_must_name_a_model_of_summaries(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"must be a run folder with recipe.yaml and model.safetensors, got none"):
        use_model(make_run(tmp_path / "unfinished"), tmp_path)
    labels = make_run(tmp_path / "labels", 1)
    (labels / "recipe.yaml").write_text("task: classification\n")
    with pytest.raises(CheckpointError, match="must be a run of task: summarization, got task: classification"):
        use_model(labels, tmp_path)
    use_model(make_run(tmp_path / "gone", 1), tmp_path)
    (tmp_path / "gone" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r".used must name a run folder .*; run `sumpool use shipped`, or name"):
        choose_model(None, tmp_path)


def test_without_a_run_there_is_no_newest_one(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="must hold a trained model, got none; run `sumpool train"):
        newest_run(tmp_path / "runs")
