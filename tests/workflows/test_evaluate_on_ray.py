"""Evaluations on a local Ray cluster, whose files are those of one process byte by byte."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sumpool.data.fingerprint import write_manifest
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.evaluation.task import Results
from sumpool.progress import Progress, go_on
from sumpool.workflows.evaluate import evaluate_run
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
            texts.add(Example(f"d{number}", story(number, 30), story(number, 2), "test"))
    write_manifest(prepared, {}, go_on)
    return (f"data.prepared={prepared}", "summarize.beams=1", "evaluate.resamples=100")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def expected(run: Path, overrides: tuple[str, ...], folder: Path, limit: int | None = None) -> dict[str, bytes]:
    evaluate_run(run, overrides=overrides, limit=limit, results=Results(folder))
    return contents(folder)


def test_the_results_are_those_of_one_process_although_a_worker_is_killed(
    tmp_path: Path, run_folder: Path, overrides: tuple[str, ...]
) -> None:
    kill = KillingCheck()
    results = Results(tmp_path / "out", html=tmp_path / "a.html", csv=tmp_path / "a.csv", latex=tmp_path / "a.tex")
    evaluation = RayEvaluation(run_folder, overrides=overrides, limit=50, workers=1)
    evaluate_on_ray(evaluation, results=results, check=kill)
    assert kill.killed == 1
    one = Results(tmp_path / "one", html=tmp_path / "b.html", csv=tmp_path / "b.csv", latex=tmp_path / "b.tex")
    evaluate_run(run_folder, overrides=overrides, limit=50, results=one)
    assert contents(tmp_path / "out") == contents(tmp_path / "one")
    for suffix in ("html", "csv", "tex"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    assert not list(tmp_path.glob(".*.incomplete"))


def test_a_cluster_and_one_process_go_on_with_what_a_killed_command_left(
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

    evaluation = RayEvaluation(run_folder, overrides=overrides, workers=1)
    evaluate_on_ray(evaluation, results=Results(out, resume=True), report=note)
    assert not any(f"parts to summarise: {DOCUMENTS // 16 + 1};" in text for text in notes)
    assert (out / "documents.jsonl").read_bytes().startswith(scored[: scored.rindex(b"\n")])
    evaluate_run(run_folder, overrides=overrides, results=Results(tmp_path / "alone", resume=True))
    assert contents(out) == contents(tmp_path / "alone") == expected(run_folder, overrides, tmp_path / "one")
