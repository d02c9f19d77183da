import json
import re
from pathlib import Path

import pytest

from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError, ResourceError
from sumpool.inference.summary import Summary
from sumpool.inference.summary_file import SummaryFile, document_digest

SETTINGS = {"model": "m", "settings": "s"}


def summary(id: str, text: str = "It works.", reason: str = "") -> Summary:
    return Summary(id, text, -1.0, 5, 5, 0.1, reason)


def save_all(path: Path, *documents: Document) -> None:
    with SummaryFile(path, SETTINGS) as file:
        for document in documents:
            assert file.take(document)
            file.save(summary(document.id, "" if document.error else "It works.", document.error))


def rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


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
    assert [(row["id"], row["reason"]) for row in rows(path)] == [("fine", ""), ("broken", "")]


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
