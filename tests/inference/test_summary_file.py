import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError, ResourceError
from sumpool.inference.summary import EvidenceSource, SentenceEvidence, Summary
from sumpool.inference.summary_file import ROWS, SummaryFile, SummaryFolder, document_digest
from sumpool.io.file_names import FileNames
from sumpool.io.json_lines import ResumableFile
from tests.conftest import read_lines

SETTINGS = {"model": "m", "settings": "s"}


def summary(id: str, text: str = "It works.", reason: str = "") -> Summary:
    return Summary(id, text, -1.0, 5, 5, 0.1, reason)


def save_all(path: Path, *documents: Document) -> None:
    with SummaryFile(path, SETTINGS) as file:
        for document in documents:
            assert file.take(document)
            file.save(summary(document.id, "" if document.error else "It works.", document.error))


def test_equal_names_count_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    save_all(path, Document("a", "0"), Document("a", "1"), Document("b", "2"))
    documents = [Document(id, text) for id, text in ("a0", "a1", "a0", "b2", "c3")]
    with SummaryFile(path, SETTINGS, resume=True) as file:
        assert [(document.id, document.text) for document in filter(file.take, documents)] == [("a", "0"), ("c", "3")]


def test_a_changed_document_is_named(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    save_all(path, Document("a", "old"))
    with (
        SummaryFile(path, SETTINGS, resume=True) as file,
        pytest.raises(DataError, match="must hold summaries of the same documents to go on, but a has changed since"),
    ):
        file.take(Document("a", "new"))


def test_a_file_of_other_settings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    save_all(path, Document("a", "0"))
    before = path.read_bytes()
    for name in SETTINGS:
        with pytest.raises(DataError, match=f"must hold the same {name} to go on"):
            SummaryFile(path, SETTINGS | {name: "other"}, resume=True)
        assert path.read_bytes() == before


def test_failed_documents_are_summarised_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    broken, fine = Document("broken", "", "is broken"), Document("fine", "0")
    save_all(path, broken, fine)
    with SummaryFile(path, SETTINGS, resume=True) as file:
        repaired = Document("broken", "repaired")
        assert file.take(repaired)
        assert not file.take(fine)
        file.save(summary("broken"))
    assert [(row["id"], row["reason"]) for row in read_lines(path)] == [("fine", ""), ("broken", "")]


def test_a_file_of_anything_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    save_all(path, Document("a", "0"))
    whole = path.read_bytes()
    for line in ("no json", "[]", "{}", '"id"', "\\xff", '{"id": "a"}'):
        path.write_bytes(whole + line.encode("latin-1") + b"\n")
        before = path.read_bytes()
        with pytest.raises(DataError, match=re.escape(f"{path}:2 must be a summary in JSON, got")):
            SummaryFile(path, SETTINGS, resume=True)
        assert path.read_bytes() == before


def test_a_file_is_never_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("mine")
    with pytest.raises(RecipeError, match="must not exist yet"):
        SummaryFile(path, SETTINGS)
    with pytest.raises(DataError, match="must say what the results are of"):
        SummaryFile(path, SETTINGS, resume=True)
    assert path.read_text() == "mine"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"no/out\.jsonl"):
        SummaryFile(tmp_path / "no" / "out.jsonl", SETTINGS)
    full = Path("/dev/full")
    with pytest.raises(ResourceError, match="go on with --resume"), SummaryFile(full, SETTINGS) as file:
        file.append(summary("a").as_json())
    assert not Path("/dev/full.identity").exists()


def test_digest_is_of_text_or_error() -> None:
    digests = {
        document_digest(document) for document in (Document("a", "x"), Document("a", "y"), Document("a", "", "x"))
    }
    assert len(digests) == 2
    assert document_digest(Document("a", "\udc80"))


DOCUMENTS = [Document("docs/a", "0"), Document("docs/b", "1")]


def folder_of(path: Path) -> SummaryFolder:
    return SummaryFolder(path, SETTINGS, FileNames(["docs"], ".txt"), lambda summary: f"{summary.text}\n")


def save_folder(path: Path, documents: list[Document] = DOCUMENTS) -> Path:
    with folder_of(path) as folder:
        for document in filter(folder.take, documents):
            folder.save(summary(document.id, "" if document.error else f"Of {document.text}.", document.error))
    return path


def test_a_folder_holds_a_file_per_summary(tmp_path: Path) -> None:
    documents = [Document("docs/a.txt", "0"), Document("docs/sub/b", "1"), Document("docs/c", "", "is broken")]
    out = save_folder(tmp_path / "out", documents)
    files = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
    assert files == {"a.txt.txt", "sub/b.txt", ROWS, f"{ROWS}.identity", "manifest.json"}
    assert (out / "sub" / "b.txt").read_text() == "Of 1.\n"
    assert [row["file"] for row in read_lines(out / ROWS)] == ["a.txt.txt", "sub/b.txt", ""]
    with folder_of(out) as folder:
        assert folder.take(documents[2])  # is tried again
        assert not any(map(folder.take, documents[:2]))


def test_a_folder_is_continued_with_the_same_names(tmp_path: Path) -> None:
    documents = [Document("same", str(number)) for number in range(4)]
    whole = save_folder(tmp_path / "whole", documents)
    parts = tmp_path / "parts"
    for _ in documents:
        with folder_of(parts) as folder:
            for document in list(filter(folder.take, documents))[:1]:
                folder.save(summary(document.id, f"Of {document.text}."))
    contents = [{file.name: file.read_bytes() for file in path.iterdir()} for path in (whole, parts)]
    assert contents[0] == contents[1]
    assert len(contents[0]) == len(documents) + 3


@pytest.mark.parametrize("change", [lambda path: path.write_text("edited"), Path.unlink])
def test_a_changed_summary_is_refused(tmp_path: Path, change: Callable[[Path], object]) -> None:
    out = save_folder(tmp_path / "out")
    change(out / "b.txt")
    with pytest.raises(RecipeError, match=r"out/b\.txt must be the summary as it was written, got another or none"):
        folder_of(out)


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    out = save_folder(tmp_path / "out", DOCUMENTS[:1])
    (out / "b.txt").write_text("mine")
    with (
        folder_of(out) as folder,
        pytest.raises(RecipeError, match=r"out/b\.txt must not exist yet, got a file that is not of sumpool"),
    ):
        list(map(folder.take, DOCUMENTS))
    assert (out / "b.txt").read_text() == "mine"


@pytest.mark.parametrize("operation", ["fsync", "replace"])
def test_a_kill_at_any_operation_loses_nothing(tmp_path: Path, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = save_folder(tmp_path / "whole")
    contents = {path.name: path.read_bytes() for path in whole.iterdir()}
    original: Callable[..., None] = getattr(os, operation)
    for turn in range(20):
        out = tmp_path / f"out{turn}"
        calls = 0

        def fail(*arguments: object, turn: int = turn) -> None:
            nonlocal calls
            calls += 1
            if calls > turn:
                raise KeyboardInterrupt
            original(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(os, operation, fail)
            try:
                save_folder(out)
            except KeyboardInterrupt:
                pass
            else:
                break
        save_folder(out)
        assert {path.name: path.read_bytes() for path in out.iterdir() if not path.name.startswith(".")} == contents
        shutil.rmtree(out)
    assert 2 < turn < 19


def test_a_line_is_json_whatever_the_text_holds(tmp_path: Path) -> None:
    ids = ["../../x", "a\nb", 'quote"', "\x1b[31m", "\u2028", "\udc80", "é"]
    with ResumableFile(tmp_path / "out.jsonl", resume=False) as file:
        for id in ids:
            file.append(Summary(id, "text\nof two lines", -0.25, 8, 9, 0.1234567).as_json())
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids
    assert json.loads(lines[0]) == {
        "id": "../../x",
        "summary": "text\nof two lines",
        "score": -0.25,
        "tokens_read": 8,
        "tokens_total": 9,
        "seconds": 0.1235,
        "reason": "",
        "mode": "abstractive",
        "title": "",
        "language": "",
        "model": "",
        "notes": [],
    }


def test_entries_are_json_with_rounded_weights() -> None:
    source = EvidenceSource(3, "Hosts send packets.", 10, 29, 2, None, 2 / 3)
    evidence = (SentenceEvidence("Hosts send 42.", ("42",), (source,)), SentenceEvidence("Yes.", (), ()))
    assert json.loads(Summary("a", "text", None, 8, 9, evidence=evidence).as_json())["evidence"] == [
        {
            "sentence": "Hosts send 42.",
            "unsupported": ["42"],
            "sources": [
                {"text": "Hosts send packets.", "start": 10, "end": 29, "page": 2, "line": None, "weight": 0.6667}
            ],
        },
        {"sentence": "Yes.", "unsupported": [], "sources": []},
    ]
