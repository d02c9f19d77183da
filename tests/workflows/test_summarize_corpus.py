"""Corpora on a local Ray cluster, by the command in its own process."""

import json
import multiprocessing
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from sumpool.documents.document import DEFAULT_OPTIONS, Document
from sumpool.documents.read import read_all
from sumpool.errors import CheckpointError, DataError, Interrupted, RecipeError, ResourceError
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from sumpool.progress import Progress
from sumpool.workflows.summarize import summarize
from sumpool.workflows.summarize_corpus import (
    GROUP_DOCUMENTS,
    JOURNAL,
    CorpusJob,
    FileResult,
    Group,
    Row,
    Summarizer,
    _open_journal,
    collect_rows,
    summarize_corpus,
)
from tests.conftest import Stop, read_lines, story
from tests.torture.figures import wait_for_lines
from tests.training.several import free_port

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Ray is tested on Linux")
ROWS = 2 * GROUP_DOCUMENTS + 7
OVERRIDES = ("summarize.beams=1",)
COLUMNS = ("summary", "mode", "tokens_read", "tokens_total", "reason")
SECONDS = 240


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of all kinds: rows with one that is broken, tables of which one is damaged, and a text."""
    monkeypatch.chdir(tmp_path)
    folder = Path("corpus")
    folder.mkdir()
    rows = [{"n": number, "document": story(number, 5) if number != 3 else ""} for number in range(ROWS)]
    lines = [json.dumps(row) for row in rows]
    lines[20] = "{broken"
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n")
    table = pyarrow.Table.from_pylist([{"document": row["document"], "summary": row["n"]} for row in rows])
    parquet.write_table(table, folder / "b.parquet")
    parquet.write_table(table, folder / "c.parquet")
    content = (folder / "c.parquet").read_bytes()
    (folder / "c.parquet").write_bytes(content[:8] + bytes(52) + content[60:])
    (folder / "d.parquet").write_bytes(b"PAR1" + b"x" * 50)
    (folder / "e.txt").write_text(story(1, 9))
    return folder


def command(corpus: Path, run: Path, *options: str) -> subprocess.Popen[str]:
    settings = [word for override in OVERRIDES for word in ("--set", override)]
    words = ("summarize", str(corpus), "--model", str(run), "--ray", "local", "--jobs", "1", "--out", "out")
    arguments = [sys.executable, "-m", "sumpool", *words, *settings, *options]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return parquet.read_table(path).to_pylist() if path.suffix == ".parquet" else read_lines(path)


def test_a_killed_command_goes_on_and_every_row_comes_out_once(corpus: Path, run_folder: Path) -> None:
    journal, first = Path("out") / JOURNAL, Path("out/part-00000.jsonl")
    killed = command(corpus, run_folder)
    wait_for_lines(journal, 1, killed, SECONDS)
    killed.kill()
    killed.communicate()
    before = journal.read_text().splitlines()
    written = first.stat().st_mtime_ns
    resumed = command(corpus, run_folder, "--resume")
    _, errors = resumed.communicate(timeout=SECONDS)
    assert resumed.returncode == 3, errors
    assert "5 of 81 documents have no summary" in " ".join(errors.split())
    assert first.stat().st_mtime_ns == written
    results = read_lines(journal)
    assert [result["file"] for result in results] == sorted({result["file"] for result in results})
    assert len(results) == 5 > len(before) > 0
    assert [result["failed"] for result in results] == [2, 1, 1, 1, 0]
    assert {"a.jsonl:21", "a.jsonl:4"} == {Path(name).name for name in results[0]["failures"]}

    expected = list(summarize(read_all(["corpus"]), run_folder, overrides=OVERRIDES))
    written_rows = [rows_of(Path("out") / result["file"]) for result in results]
    a, b, c, d, e = written_rows
    assert [row.get("n") for row in a] == [*range(20), None, *range(21, ROWS)]
    assert "a.jsonl:21 must be a JSON object" in a[20]["reason"]
    assert [row["summary"] for row in b] == list(range(ROWS))
    (damaged,), (unreadable,) = c, d
    assert "c.parquet must be complete" in damaged["reason"]
    assert damaged["document"] is None
    assert "d.parquet must be complete" in unreadable["reason"]
    assert e[0]["id"] == "corpus/e.txt"
    for row, summary in zip((row for rows in written_rows for row in rows), expected, strict=True):
        ours = row | {"summary": row["generated_summary"]} if "generated_summary" in row else row
        assert bool(ours["reason"]) == bool(summary.reason)
        if not summary.reason:
            assert [ours[name] for name in COLUMNS] == [
                getattr(summary, "text" if name == "summary" else name) for name in COLUMNS
            ]


def job(corpus: Path, run: Path) -> CorpusJob:
    return CorpusJob((str(corpus),), run.resolve(), OVERRIDES, DEFAULT_OPTIONS, Path("out").resolve())


def test_an_address_without_a_cluster_is_refused(corpus: Path, run_folder: Path) -> None:
    with pytest.raises(ResourceError, match=r"must be local or the address of a cluster.*ray\.log may have more"):
        summarize_corpus(job(corpus, run_folder), address=f"localhost:{free_port()}")


def test_an_error_of_a_worker_ends_the_command(corpus: Path, run_folder: Path) -> None:
    run = Path(shutil.copytree(run_folder, "run"))
    content = (run / "model.safetensors").read_bytes()
    (run / "model.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match=r"model\.safetensors must hold"):
        summarize_corpus(job(corpus, run), address="local", workers=1)


def test_the_end_of_ray_is_an_error_which_the_command_goes_on_after(corpus: Path, run_folder: Path) -> None:
    def kill(progress: Progress) -> None:
        if progress.note.startswith("files to summarise"):
            (ray,) = multiprocessing.active_children()
            ray.kill()

    with pytest.raises(ResourceError, match=r"Ray must work until all files are done.*ray\.log has why"):
        summarize_corpus(job(corpus, run_folder), address="local", report=kill)


def test_an_interrupted_command_ends_at_once(corpus: Path, run_folder: Path) -> None:
    with pytest.raises(Interrupted):
        summarize_corpus(job(corpus, run_folder), address="local", check=Stop(1))


def rows(*texts: str, error: str = "") -> list[Row]:
    return [Row(Document(text, text, error), {"n": text}, {}) for text in texts]


def test_a_row_that_cannot_be_summarised_has_the_reason(
    corpus: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Poisoned:
        def summarize(self, documents: list[Document], **_: object) -> Iterator[Summary]:
            for document in documents:
                if document.text == "poison":
                    raise RuntimeError("a kernel failed")
                yield Summary(document.id, document.text, None, 1, 1, 0.0, "")

    monkeypatch.setattr(Pipeline, "open", lambda _: Poisoned())
    summarizer = Summarizer(job(corpus, run_folder), Path.cwd(), 1)
    (done,) = summarizer({"group": [Group(0, 0, rows("a", "poison", "b"))]})["group"]
    assert [row.summary["summary"] for row in done.rows] == ["a", "", "b"]
    assert done.rows[1].summary["reason"] == "poison must be summarised, got RuntimeError: a kernel failed"
    assert [row.is_lost for row in done.rows] == [False, True, False]


def test_rows_that_kill_their_workers_have_the_reason(corpus: Path, run_folder: Path) -> None:
    last = [row._replace(summary={"reason": ""}) for row in rows("c")]
    taken, is_complete = collect_rows(
        "a.jsonl", [Group(0, 2, last), Group(0, 3, is_last=True)], job(corpus, run_folder)
    )
    assert is_complete
    assert [row.fields for row in taken] == [{"id": "a.jsonl:1"}, {"id": "a.jsonl:2"}, {"n": "c"}]
    assert "a.jsonl:2 must be summarised, but 5 workers died" in taken[1].summary["reason"]
    assert [row.is_lost for row in taken] == [True, True, False]
    _, is_complete = collect_rows("a.jsonl", [Group(0, 0, last)], job(corpus, run_folder))
    assert not is_complete


def test_files_with_lost_documents_are_summarised_again(tmp_path: Path) -> None:
    results = [FileResult("a", "part-0", 3, 2, ["a:1", "a:2"]), FileResult("b", "part-1", 3, 1, ["b:1"], lost=1)]
    for resume in (False, True):
        with ExitStack() as stack:
            journal, finished = _open_journal(tmp_path / "out", {}, stack, resume=resume)
            assert list(finished.values()) == results[:1] * resume
            for result in () if resume else results:
                journal.append(json.dumps(result._asdict()))


def test_a_folder_is_of_one_corpus(corpus: Path, run_folder: Path) -> None:
    Path("out").mkdir()
    (Path("out") / "thesis.tex").write_text("")
    with pytest.raises(RecipeError, match=r"got thesis\.tex"):
        summarize_corpus(job(corpus, run_folder), address="local")
    (Path("out") / "thesis.tex").unlink()
    with pytest.raises(ResourceError):  # which leaves a folder without results
        summarize_corpus(job(corpus, run_folder), address=f"localhost:{free_port()}")
    (Path("out") / JOURNAL).write_text("{}\n")
    with pytest.raises(RecipeError, match="add --resume"):
        summarize_corpus(job(corpus, run_folder), address="local")
    (corpus / "e.txt").write_text(story(2, 10))
    with pytest.raises(DataError, match="must hold the same corpus"):
        summarize_corpus(job(corpus, run_folder), address="local", resume=True)
