"""`sumpool prepare` and `sumpool train` of a language model, from the command line."""

import json
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sumpool.cli.console import Screen, working
from sumpool.errors import RecipeError
from sumpool.progress import GRACE, SHORT_GRACE
from tests.cli.conftest import run

RECIPE = """\
name: text
task: language_modeling
data: {source: {kind: plain, path: text.txt}}
model: {dim: 8, heads: 2, feed_forward: 16, layers: [1, 1, 1], boundaries: [{kind: whitespace}], length: 16}
train: {steps: 2, batch_tokens: 64, validate_documents: 2, device: cpu}
"""
SLOW_UPDATE = """\
import sys, threading
from sumpool.__main__ import main
from sumpool.training.update import Updater

def update(*arguments, **settings):
    print("updating", flush=True)
    threading.Event().wait()

Updater.update = update
main()
"""
"""Command line in which an update never ends and reaches no safe point."""


@pytest.fixture(autouse=True)
def corner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a text and a recipe."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("the cat sees the dog " * 60)
    Path("text.yaml").write_text(RECIPE)


def test_a_text_is_prepared_and_a_model_trained() -> None:
    result = run("prepare", "text.yaml")
    assert result.exit_code == 0, result.output
    assert "1 rows read = 1 kept + 0 rejected; prepared in prepared/text" in result.output
    assert "unknown" in result.output
    measured = run("train", "text.yaml", "--dry-run")
    assert "4 x 16 tokens" in measured.output
    assert not Path("runs").exists()
    trained = run("train", "text.yaml")
    assert trained.exit_code == 0, trained.output
    assert "next: sumpool study segments runs/text doc.txt; sumpool evaluate runs/text" in trained.output
    shown = run("show", "runs/text")
    assert "whitespace" in shown.output
    assert "train 1,134" in shown.output
    windows = ("--set", "evaluate.window=16", "--set", "evaluate.step=8")
    scored = run("evaluate", "runs/text", *windows)
    assert "shortening factor" in scored.stdout
    assert "segments: " in scored.stdout
    assert "cat |sees |the |dog |" in scored.stdout.splitlines()[-1]
    assert "cat " in json.loads(run("evaluate", "runs/text", *windows, "--json").stdout)["sample"]


def test_a_dry_run_ends_within_a_second_of_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    graces = list[float]()

    def noted(grace: float) -> AbstractContextManager[Screen]:
        graces.append(grace)
        return working(grace)

    monkeypatch.setattr("sumpool.cli.train.working", noted)
    for words in (("--dry-run",), ()):
        assert isinstance(run("train", "missing.yaml", *words).exception, RecipeError)
    assert graces == [SHORT_GRACE, GRACE]
    assert SHORT_GRACE < 1  # the rest is for the end of the process


@pytest.mark.slow
def test_a_signal_ends_a_dry_run_in_the_middle_of_an_update() -> None:
    command = [sys.executable, "-c", SLOW_UPDATE, "train", "text.yaml", "--dry-run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "updating\n", process.stderr.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
        assert "stopped by SIGTERM" in process.stderr.read()
