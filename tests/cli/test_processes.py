import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sumpool.recipe.load import load_recipe
from sumpool.training.checkpoint import CHECKPOINTS, Checkpoints
from sumpool.training.journal import JOURNAL, Journal
from sumpool.workflows.train import train
from tests.conftest import TOY, exit_code, write_rows
from tests.torture.figures import wait

ENDLESS = f"""\
{TOY.format(folder=".")}\
train: {{steps: 1000000, learning_rate: 1.0e-8, batch_tokens: 256, validate_every: 2, rouge_documents: 3}}
select: {{enabled: false}}
"""
"""Updates that leave the weights almost as they are, so that no summary is a tie."""


@pytest.mark.parametrize("words", [("--dry-run",), ("--set", "train.steps=x")])
def test_what_cannot_be_trained_in_several_processes_is_refused(
    words: tuple[str, ...], tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert exit_code("train", str(tiny_recipe), *words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") <= 2
    assert ("a dry run must take one process, got several" in error) == ("--dry-run" in words)


def test_a_sweep_takes_one_process(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    path = tmp_path / "sweep.yaml"
    recipe = tiny_recipe.read_text().replace("steps: 4, ", "").replace("\n", "\n  ")
    path.write_text(f"sweep: s\nsource_tokens: 100\nrecipe:\n  {recipe}\nrows: {{first: }}\n")
    assert exit_code("train", str(path)) == 2
    assert "a sweep must take one process" in capsys.readouterr().err


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
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = ["-m", *torchrun, "-m", "sumpool", "train", "toy.yaml", "--set", "train.parallel=fsdp"]
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        wait(lambda: process.poll() is not None or (journal.exists() and b'"step": 3,' in journal.read_bytes()), 300)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGTERM)
        lines = process.stderr.read().splitlines()
    assert process.returncode
    assert "stopped by SIGTERM; the work is saved" in lines
    assert sum("updates" in line or "step 2: validation" in line for line in lines) <= 1  # process 0 reports for all
    steps = [record["step"] for record in Journal(journal).read() if record["kind"] == "step"]
    assert Checkpoints(journal.parent / CHECKPOINTS, 2).steps()[-1] == steps[-1] >= 3
    expected, validated = (
        next(record for record in Journal(path).read() if record["kind"] == "validation")
        for path in (alone / JOURNAL, journal)
    )
    assert expected["rouge1"] > 0
    assert validated == pytest.approx(expected, abs=1e-4)
