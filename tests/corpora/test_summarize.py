import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from sumpool.corpora.journal import PartJournal
from sumpool.corpora.parts import PartResult, divide
from sumpool.corpora.summarize import CorpusJob, PartSummarizer
from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.read import ignore_notice, read_all
from sumpool.errors import DataError, RecipeError, ResourceError
from sumpool.inference.summary import Summary
from sumpool.workflows.summarize import summarize
from tests.conftest import story

ROWS = 40
OVERRIDES = ("summarize.batch_tokens=200", "summarize.beams=1")


def corpus(folder: Path, kind: str, column: str = "n", count: int = ROWS) -> Path:
    rows = [{column: number, "document": story(number, 5) if number != 3 else ""} for number in range(count)]
    if kind == "jsonl":
        (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "a.parquet")
    return folder / f"a.{kind}"


def summarized(path: Path, run_folder: Path, *, evidence: bool = False) -> list[dict[str, Any]]:
    """The rows of the parts of a corpus, in its order."""
    out = path.parent / "out"
    out.mkdir()
    summarize_part = PartSummarizer(CorpusJob((), run_folder, OVERRIDES, DEFAULT_OPTIONS, out, evidence), 1)
    parts = divide([str(path)], DEFAULT_OPTIONS, ignore_notice)
    assert [summarize_part(part).documents for part in parts] == [part.documents for part in parts]
    rows: list[dict[str, Any]] = []
    for part in parts:
        file = out / part.name
        is_table = file.suffix == ".parquet"
        rows += parquet.read_table(file).to_pylist() if is_table else map(json.loads, file.read_text().splitlines())
    return rows


def in_one_process(path: Path, run_folder: Path) -> Sequence[Summary]:
    return list(summarize(read_all([str(path)]), run_folder, overrides=OVERRIDES))


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_rows_are_those_of_one_process(kind: str, tmp_path: Path, run_folder: Path) -> None:
    path = corpus(tmp_path, kind)
    rows = summarized(path, run_folder)
    names = ("summary", "mode", "tokens_read", "tokens_total", "reason")
    assert [tuple(row[name] for name in names) for row in rows] == [
        tuple(getattr(summary, name) for name in names) for summary in in_one_process(path, run_folder)
    ]
    assert [row["n"] for row in rows] == list(range(ROWS))
    assert [number for number, row in enumerate(rows) if row["reason"]] == [3]


def test_evidence_is_a_column(tmp_path: Path, run_folder: Path) -> None:
    rows = summarized(corpus(tmp_path, "parquet", count=4), run_folder, evidence=True)
    first = rows[0]["evidence"][0]
    assert first["sources"][0]["text"] in rows[0]["document"].replace("\n\n", " ")
    assert {"sentence", "unsupported", "sources"} == set(first)
    assert rows[3]["evidence"] == []


def test_a_column_of_the_corpus_keeps_its_name(tmp_path: Path, run_folder: Path) -> None:
    rows = summarized(corpus(tmp_path, "jsonl", "summary", count=4), run_folder)
    assert [row["summary"] for row in rows] == [0, 1, 2, 3]
    assert all(isinstance(row["generated_summary"], str) for row in rows)


def journal(folder: Path, *, resume: bool = True, retry: bool = True, model: str = "a") -> PartJournal:
    return PartJournal(folder, {"model": model}, resume=resume, retry=retry)


def result(part: int, failed: int = 0) -> PartResult:
    return PartResult(part, f"part-{part}", 32, failed, [], 100, 1.0)


def test_a_journal_goes_on_with_the_parts_that_are_not_done(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with journal(folder, resume=False) as first:
        first.save(result(1))
        first.save(result(0, failed=2))
    with (folder / "parts.jsonl").open("ab") as file:
        file.write(b'{"part": 2, "fi')
    with journal(folder, retry=False) as second:
        assert second.results == {0: result(0, failed=2), 1: result(1)}
    with journal(folder) as third:
        assert third.results == {1: result(1)}
        third.save(result(0))
    with journal(folder) as fourth:
        assert fourth.results == {0: result(0), 1: result(1)}


def test_a_journal_is_of_one_corpus_and_one_process(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with journal(folder, resume=False) as first:
        first.save(result(0))
        with pytest.raises(RecipeError, match="by one process at a time"):
            journal(folder)
    with pytest.raises(RecipeError, match="add --resume"):
        journal(folder, resume=False)
    with pytest.raises(DataError, match="the same model"):
        journal(folder, model="b")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    with pytest.raises(RecipeError, match=r"got thesis.tex"):
        journal(tmp_path / "other")


def test_a_full_disk_leaves_no_part(tmp_path: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = corpus(tmp_path, "jsonl")
    summarize_part = PartSummarizer(CorpusJob((), run_folder, ("summarize.fast=true",), DEFAULT_OPTIONS, tmp_path), 1)
    part = divide([str(path)], DEFAULT_OPTIONS, ignore_notice)[0]

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sumpool.io.atomic.sync", fail)
    with pytest.raises(ResourceError, match="go on with --resume"):
        summarize_part(part)
    assert not (tmp_path / part.name).exists()
