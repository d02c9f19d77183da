import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from sumpool.bench.config import CorpusConfig
from sumpool.bench.corpus import (
    NAMES,
    OURS,
    SHIPPED,
    ProcessRun,
    bench_corpus,
    choose_documents,
    measure_systems,
    run_process,
    write_documents,
)
from sumpool.bench.peer_process import read_documents
from sumpool.data.sources import RfcSourceConfig
from sumpool.errors import RecipeError
from sumpool.io.bounded import parse_json
from sumpool.progress import no_op

LINES = """\
print('{"id": 1}', flush=True)
block = bytearray(b"1") * 100_000_000
print('{"id": 2}', flush=True)
"""


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_process_is_timed_from_its_start() -> None:
    run = run_process(python(LINES), no_op)
    assert (run.problem, [row["id"] for row in run.rows]) == ("", [1, 2])
    assert 0 < run.first < run.seconds
    if Path("/proc/self/status").exists():
        assert run.memory
        assert 100e6 < run.memory < 200e6


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_the_peak_of_a_process_includes_its_descendants() -> None:
    block = "import time; block = bytearray(b'1') * 100_000_000; time.sleep(1)"
    run = run_process(python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {block!r}])"), no_op)
    assert run.memory
    assert 100e6 < run.memory < 200e6


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("import sys; sys.exit('error: no such model')", "error: no such model"),
        ("import sys; sys.exit(5)", "it ended with exit code 5"),
        ("import signal; signal.pause()", "it took more than 1 s"),
    ],
)
def test_a_run_that_fails_has_a_reason(program: str, problem: str) -> None:
    assert run_process(python(program), no_op, timeout=1).problem == problem


def test_an_interrupted_process_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "process"
    file.touch()

    def stop() -> None:
        if file.read_text().endswith("\n"):
            raise KeyboardInterrupt

    program = f"import os, signal; open({str(file)!r}, 'w').write(f'{{os.getpid()}}\\n'); signal.pause()"
    with pytest.raises(KeyboardInterrupt):
        run_process(python(program), stop)
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


def test_systems_take_turns_and_one_that_fails_is_not_repeated() -> None:
    order: list[str] = []

    def run(command: Sequence[str]) -> ProcessRun:
        order.extend(command)
        count = 1 if command == ["short"] else 2
        return ProcessRun([{}] * count, 1.0, 0.5, None, "no memory" if command == ["broken"] else "")

    commands = {name: [name] for name in ("ours", "broken", "short")}
    runs = measure_systems(commands, CorpusConfig(documents=2, repeats=3, trial=2, batches=(2,)), run, no_op)
    assert order == ["ours", "broken", "short", "ours", "ours"]
    assert [result.problem for result in runs["ours"]] == [""] * 3
    assert [result.problem for result in runs["broken"]] == ["no memory"]
    assert [result.problem for result in runs["short"]] == ["it printed 1 summaries of 2 documents"]


def test_documents_span_the_lengths_of_the_test_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list(RfcSourceConfig().examples("test"))  # which takes seconds, once
    monkeypatch.setattr("sumpool.bench.corpus.RfcSourceConfig", lambda: SimpleNamespace(examples={"test": read}.get))
    rows = choose_documents(64)
    numbers = [int(row.id.removeprefix("RFC")) for row in rows]
    assert numbers == sorted(set(numbers))
    assert {number % 10 for number in numbers} == {7}
    words = sorted(len(row.document.split()) for row in rows)
    assert words[-1] > 5 * words[0]
    fewer = choose_documents(2)
    assert sorted(len(row.document.split()) for row in fewer) == [words[0], words[-1]]
    path = write_documents(tmp_path / "documents.jsonl", fewer)
    assert read_documents(path) == [(row.id, row.document) for row in fewer]
    with pytest.raises(
        RecipeError, match=r"bench\.documents must be at most \d+, the RFCs of the test split, got 9999"
    ):
        choose_documents(9999)


pytestmark = pytest.mark.slow

SMALL = ["bench.documents=4", "bench.generate=6", "bench.repeats=1", "bench.batches=[2]", "bench.trial=2"]


@pytest.mark.skipif(find_spec("ctranslate2") is None, reason="needs the extra peers")
def test_processes_are_measured_from_their_start_and_peers_in_their_fastest_precision(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sumpool.bench.corpus._PRECISIONS", ("bfloat16",))
    changes = [*SMALL, "bench.peers=[LED]"]
    report = bench_corpus(run_folder, changes, True, no_op, no_op)
    rows = {row["system"]: row for row in report.result.rows["corpus"]}
    assert [*rows] == [OURS, SHIPPED, "LED"]
    for row in rows.values():
        assert row.note == ""
        assert row.timing
        assert len(row.timing.seconds) == len(row["firsts"]) == 1
        assert 0 < row["first"] < row["median"]
        assert row["documents_per_second"] == pytest.approx(4 / row["median"])
    assert rows[OURS]["times"] == 1
    text = report.result.tables[0].title
    assert text.startswith("4 RFCs of ")
    assert "6 tokens written with 2 beams" in text
    assert len(parse_json(report.to_json())["corpus"][0]["seconds"]) == 1
    assert rows["LED"]["precision"] == "bf16"
    assert rows["LED"]["batch"] == 2
    assert rows["LED"]["tokens_read"] == 4 * report.settings["model"]["source_length"]  # all documents are longer
    assert rows["LED"]["times"] == pytest.approx(rows["LED"]["median"] / rows[OURS]["median"])
    assert "transformers" in report.versions


@pytest.mark.skipif(find_spec("ctranslate2") is None, reason="needs the extra peers")
def test_a_peer_that_does_not_fit_the_memory_is_a_row_with_its_reason(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(commands: Mapping[str, object], *_: object) -> dict[str, list[ProcessRun]]:
        return {name: [ProcessRun((), 0.1, 1.0)] for name in commands}

    monkeypatch.setattr("sumpool.bench.corpus.measure_systems", measured)
    changes = [*SMALL, "bench.peers=[CTranslate2]", "bench.memory=0.001"]
    report = bench_corpus(run_folder, changes, True, no_op, no_op)
    row = report.result.rows["corpus"][-1]
    assert (row["system"], row.note, row.timing) == ("CTranslate2", "more than 0.001 GiB (bench.memory)", None)
    assert "CTranslate2 is left out: more than 0.001 GiB (bench.memory)" in report.result.tables[0].notes


def test_wrong_settings_are_errors(run_folder: Path) -> None:
    with pytest.raises(RecipeError, match=f"bench.peers must name some of {', '.join(NAMES)}, got GPT"):
        bench_corpus(run_folder, ["bench.peers=[GPT]"], True, no_op, no_op)
    with pytest.raises(RecipeError, match=r"trial must be at least 16, the largest of batches, got 2"):
        bench_corpus(run_folder, ["bench.trial=2"], False, no_op, no_op)
