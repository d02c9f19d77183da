import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sumpool.cli.processes import train_in_processes
from sumpool.errors import RecipeError
from sumpool.recipe.load import load_recipe
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.fit import CHECKPOINTS, JOURNAL
from sumpool.training.journal import Journal
from sumpool.workflows.train import train
from tests.conftest import exit_code, write_rows
from tests.torture.waiting import wait

ENDLESS = """\
name: toy
data: {source: {kind: jsonl, path: rows.jsonl}, vocabulary: 300, workers: 1}
model:
  dim: 16
  heads: 2
  feed_forward: 16
  source_length: 64
  target_length: 16
  encoder: [{attention: {kind: blockwise, block: 16}}]
  decoder: {layers: 1}
train:
  steps: 1000000
  learning_rate: 1.0e-8
  batch_tokens: 256
  validate_every: 2
  rouge_documents: 3
  device: cpu
  precision: fp32
select: {enabled: false}
"""
"""Updates that leave the weights almost as they are, so that no summary is a tie."""


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
    assert exit_code(*words) == 5
    assert started == [(2, words)]


@pytest.mark.parametrize("words", [("--dry-run",), ("--set", "train.steps=x")])
def test_what_cannot_be_trained_is_refused_before_the_start(
    words: tuple[str, ...], tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sumpool.training.launch.launch", lambda *_: pytest.fail("it was started"))
    assert exit_code("train", str(tiny_recipe), "--devices", "2", *words) == 2
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_validation_is_that_of_one_process_and_a_signal_to_the_launcher_saves_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    write_rows(tmp_path / "rows.jsonl", seed=1)
    (tmp_path / "toy.yaml").write_text(ENDLESS)
    alone = train(load_recipe(Path("toy.yaml"), ["train.steps=2"]), Path("alone"))
    journal = tmp_path / "runs" / "toy" / JOURNAL
    words = ["train", "toy.yaml", "--devices", "2", "--set", "train.parallel=fsdp"]
    with subprocess.Popen([sys.executable, "-m", "sumpool", *words], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        wait(lambda: process.poll() is not None or (journal.exists() and b'"step": 3,' in journal.read_bytes()), 300)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGTERM)
        *lines, last = process.stderr.read().splitlines()
    assert (process.returncode, last) == (143, "stopped by SIGTERM; the work is saved")
    assert not [line for line in lines if "torch" in line]
    steps = [record["step"] for record in Journal(journal).read() if record["kind"] == "step"]
    assert Checkpoints(journal.parent / CHECKPOINTS, 2).steps()[-1] == steps[-1] >= 3
    expected, validated = (
        next(record for record in Journal(path).read() if record["kind"] == "validation")
        for path in (alone / JOURNAL, journal)
    )
    assert expected["rouge1"] > 0
    assert validated == pytest.approx(expected, abs=1e-4)
