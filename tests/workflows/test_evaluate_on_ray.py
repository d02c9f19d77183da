"""Evaluations on a local Ray cluster, whose files are those of one process byte by byte."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sumpool.data.prepared_folder import write_manifest
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.evaluation.task import Results
from sumpool.progress import Progress, no_op
from sumpool.tasks.summarization.evaluate import evaluate_run
from sumpool.workflows.evaluate_on_ray import RayEvaluation, evaluate_on_ray
from tests.conftest import story
from tests.corpora.worker_processes import KillingCheck
from tests.torture.waiting import wait_for_lines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are listed in /proc")
DOCUMENTS = 60
SECONDS = 300


@pytest.fixture
def overrides(tmp_path: Path) -> tuple[str, ...]:
    """Settings that name prepared data."""
    prepared = tmp_path / "prepared"
    with TextsWriter(prepared, "test") as texts:
        for number in range(DOCUMENTS):
            texts.add(Example(f"d{number}", story(number, 12), story(number, 2), "test"))
    write_manifest(prepared, {}, no_op)
    return (f"data.prepared={prepared}", "summarize.beams=1", "evaluate.resamples=100")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def results(folder: Path, name: str, *, resume: bool = False) -> Results:
    html, csv, latex = (folder / f"{name}.{suffix}" for suffix in ("html", "csv", "tex"))
    return Results(folder / name, html=html, csv=csv, latex=latex, resume=resume)


def test_a_cluster_whose_worker_dies_and_one_process_go_on_with_what_a_killed_command_left(
    tmp_path: Path, run_folder: Path, overrides: tuple[str, ...]
) -> None:
    out, unfinished = tmp_path / "out", tmp_path / ".out.incomplete"
    settings = [word for override in overrides for word in ("--set", override)]
    words = ("evaluate", str(run_folder), "--ray", "local", "--jobs", "1", "--out", str(out), *settings)
    command = subprocess.Popen(
        [sys.executable, "-m", "sumpool", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for_lines(unfinished / "documents.jsonl", 3, command, SECONDS)
    command.kill()
    command.wait()
    scored = (unfinished / "documents.jsonl").read_bytes()
    assert list((unfinished / "summaries").glob("*.jsonl"))
    assert (unfinished / "summaries" / "ray.log").is_file()
    shutil.copytree(unfinished, tmp_path / ".alone.incomplete")
    notes: list[str] = []

    def note(progress: Progress) -> None:
        notes.append(progress.note)

    kill, evaluation = KillingCheck(), RayEvaluation(run_folder, overrides=overrides, workers=1)
    evaluate_on_ray(evaluation, results=results(tmp_path, "out", resume=True), report=note, check=kill)
    assert kill.killed == 1
    assert not any(f"parts to summarise: {DOCUMENTS // 16 + 1};" in text for text in notes)
    assert (out / "documents.jsonl").read_bytes().startswith(scored[: scored.rindex(b"\n")])
    evaluate_run(run_folder, overrides=overrides, results=Results(tmp_path / "alone", resume=True))
    evaluate_run(run_folder, overrides=overrides, results=results(tmp_path, "one"))
    assert contents(out) == contents(tmp_path / "alone") == contents(tmp_path / "one")
    for suffix in ("html", "csv", "tex"):
        assert (tmp_path / f"out.{suffix}").read_bytes() == (tmp_path / f"one.{suffix}").read_bytes()
    assert not list(tmp_path.glob(".*.incomplete"))
