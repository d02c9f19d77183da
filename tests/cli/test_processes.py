import multiprocessing
import os
import sys
from pathlib import Path

import pytest

from sumpool.cli.app import main
from sumpool.cli.processes import train_in_processes
from sumpool.errors import RecipeError
from sumpool.recipe.load import load_recipe


def run_cli(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setattr(sys, "argv", ["sumpool", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


def test_processes_are_started_with_the_same_command(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def launch(devices: int, arguments: list[str], report: object) -> int:
        started.append((devices, arguments))
        assert report
        return 5

    monkeypatch.setattr("sumpool.training.launch.launch", launch)
    words = ["train", str(tiny_recipe), "--devices", "2", "--out", str(tmp_path / "run")]
    assert run_cli(monkeypatch, *words) == 5
    assert started == [(2, words)]


@pytest.mark.parametrize("words", [("--dry-run",), ("--set", "train.steps=x")])
def test_what_cannot_be_trained_is_refused_before_the_start(
    words: tuple[str, ...], tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sumpool.training.launch.launch", lambda *_: pytest.fail("it was started"))
    assert run_cli(monkeypatch, "train", str(tiny_recipe), "--devices", "2", *words) == 2
    assert capsys.readouterr().err.count("\n") <= 2


def test_a_dry_run_takes_one_process(tiny_recipe: Path) -> None:
    with pytest.raises(RecipeError, match="a dry run must take one process"):
        train_in_processes(2, tiny_recipe, [], None, dry_run=True)


def test_a_sweep_takes_one_process(tiny_recipe: Path, tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(f"sweep: s\nsource_tokens: 100\nrecipes: [{tiny_recipe}]\n")
    with pytest.raises(RecipeError, match="a sweep must take one process"):
        train_in_processes(2, path, [], None, dry_run=False)


def write_as_rank_one(recipe: Path, run: Path) -> None:
    os.environ |= {"WORLD_SIZE": "2", "RANK": "1"}
    train_in_processes(1, recipe, [], run, dry_run=False)
    sys.stdout.write("a result\n")
    os.write(2, b"an error\n")


def test_other_processes_write_to_logs_of_their_own(tiny_recipe: Path, tmp_path: Path) -> None:
    assert load_recipe(tiny_recipe)
    process = multiprocessing.get_context("forkserver").Process(
        target=write_as_rank_one, args=(tiny_recipe, tmp_path / "run")
    )
    process.start()
    process.join()
    assert process.exitcode == 0
    log = (tmp_path / "run" / "logs" / "rank-1.log").read_text()
    assert sorted(log.splitlines()) == ["a result", "an error"]
