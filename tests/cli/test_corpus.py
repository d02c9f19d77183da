import json
import sys
from pathlib import Path

import pytest

from tests.conftest import exit_code, story

RECIPES = Path(__file__).parents[2] / "recipes"


def refuse(capsys: pytest.CaptureFixture[str], *words: str, command: str = "summarize") -> str:
    """Run a command with `--ray local`, and return the line in which it is refused."""
    assert exit_code(command, "--ray", "local", *words) == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps({"document": story(1, 5)}) + "\n")
    return "rows.jsonl"


def test_options_that_ray_does_not_have_are_refused(rows: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        ((), "--ray must come with --out FOLDER"),
        (("--out-dir", "out"), "--ray must come with --out FOLDER"),
        (("--out", "out", "--explain", "a.html"), "--ray must come with --out FOLDER"),
        (("--out", "out", "--json"), "--ray must come without --format, --json"),
        (("--out", "out", "--title"), "--ray must come without --format, --json"),
        (("--out", "out", "--limit", "3"), "--ray must come without --format, --json"),
        (("--out", "out", "-"), "--ray must have files, folders or their URIs"),
        (("--out", "out", "https://example.com/a.txt"), "--ray must have files, folders or their URIs"),
    ):
        assert message in refuse(capsys, rows, *words)


def test_without_ray_the_extra_is_named(
    rows: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'sumpool[ray]'" in refuse(capsys, rows, "--out", "out", "--fast")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run folders of each task, as far as the options of `evaluate` look at them."""
    monkeypatch.chdir(tmp_path)
    for task in ("summarization", "classification", "language_modeling"):
        Path(task).mkdir()
        Path(task, "recipe.yaml").write_text(f"task: {task}\n")
    Path("summaries.jsonl").write_text("")


@pytest.mark.usefixtures("runs")
def test_evaluations_that_have_no_summaries_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        (("summaries.jsonl", "--references", "summaries.jsonl"), "--ray must come with a run folder, got a file of"),
        (("classification",), "a classifier must be evaluated with --split, --limit, --out, --json and --set only"),
        (("language_modeling",), "a language model must be evaluated with"),
        (("summarization", "--faithfulness"), "--faithfulness must come with a run folder, --split"),
    ):
        assert message in refuse(capsys, *words, command="evaluate")


def test_running_text_is_not_prepared_on_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = next(path for path in RECIPES.rglob("*.yaml") if "task: language_modeling" in path.read_text())
    monkeypatch.chdir(tmp_path)
    line = refuse(capsys, str(recipe), command="prepare")
    assert "--ray must come with a recipe for documents, got one of a language model" in line


@pytest.mark.parametrize("command", ["evaluate", "prepare"])
def test_jobs_are_those_of_a_cluster(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = "quickstart" if command == "prepare" else "."
    assert exit_code(command, target, "--jobs", "2") == 2
    assert "--jobs must come with --ray local, or the address of a cluster" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate", "prepare"])
def test_without_ray_every_command_names_the_extra(
    command: str, run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    target = "quickstart" if command == "prepare" else str(run_folder)
    assert "pip install 'sumpool[ray]'" in refuse(capsys, target, command=command)
