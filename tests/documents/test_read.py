import gzip
import io
import json
from pathlib import Path

from sumpool.documents.document import Document, ReadOptions
from sumpool.documents.read import STDIN, read_documents


def write(path: Path, content: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_text_file_is_a_document(tmp_path: Path) -> None:
    for name in ("a.txt", "b.md", "README", "C.TXT"):
        path = write(tmp_path / name, "Some text.\n")
        assert list(read_documents(path)) == [Document(path, "Some text.\n")]
    path = write(tmp_path / "a.txt.gz", gzip.compress(b"packed"))
    assert list(read_documents(path)) == [Document(path, "packed")]


def test_empty_file_is_an_empty_document(tmp_path: Path) -> None:
    path = write(tmp_path / "empty.txt", "")
    assert list(read_documents(path)) == [Document(path, "")]


def test_stdin_is_a_document() -> None:
    assert list(read_documents(STDIN, stdin=io.BytesIO("Grüße".encode()))) == [Document("-", "Grüße")]
    (broken,) = read_documents(STDIN, stdin=io.BytesIO(b"\xff"))
    assert broken == Document("-", "", "stdin must be UTF-8, got byte 0xff at position 0; convert it")


def test_folder_yields_a_document_per_file_in_order(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "a.txt", "a"),
        write(tmp_path / "b" / "c.md", "c"),
        write(tmp_path / "b" / "d.xyz", "%PDF"),
        write(tmp_path / "e.txt", b"\xff"),
    ]
    write(tmp_path / ".hidden" / "x.txt", "hidden")
    write(tmp_path / ".x.txt", "hidden")
    documents = list(read_documents(str(tmp_path)))
    assert [document.id for document in documents] == paths
    assert [document.text for document in documents] == ["a", "c", "", ""]
    assert documents[2].error == (
        f"{paths[2]} must be .txt, .md or .jsonl (also with .gz or .zst), a folder of them, or - for stdin, got .xyz; "
        "convert it to text"
    )
    assert documents[3].error == f"{paths[3]} must be UTF-8, got byte 0xff at position 0; convert it"


def test_unreadable_file_is_a_document_with_an_error(tmp_path: Path) -> None:
    (missing,) = read_documents(str(tmp_path / "missing.txt"))
    assert "must be a file that can be read" in missing.error
    path = write(tmp_path / "broken.txt.gz", b"no archive")
    (broken,) = read_documents(path)
    assert broken.id == path
    assert "must be complete" in broken.error
    (lines,) = read_documents(write(tmp_path / "broken.jsonl.zst", b"no archive"))
    assert "must be complete" in lines.error


def test_json_lines_have_their_id_or_location(tmp_path: Path) -> None:
    rows = [{"id": "one", "article": "First."}, {"id": 2, "article": "Second."}, {"article": "Third."}]
    path = write(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows)))
    assert list(read_documents(path)) == [
        Document("one", "First."),
        Document("2", "Second."),
        Document(f"{path}:3", "Third."),
    ]


def test_field_of_json_lines_can_be_set(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", json.dumps({"id": "a", "text": "no", "story": "yes"}))
    assert list(read_documents(path, ReadOptions(field="story"))) == [Document("a", "yes")]


def test_invalid_line_does_not_stop_the_others(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.jsonl", '{"id": "a", "text": "A"}\n{broken\n{"id": "b", "title": "x"}\n{"id": "c", "text": 1}'
    )
    first, second, third, fourth = read_documents(path)
    assert first == Document("a", "A")
    assert (second.id, second.text) == (f"{path}:2", "")
    assert second.error.startswith(f"{path}:2 must be a JSON object")
    assert third.error == f"{path}:3 must have a field 'document', got 'id', 'title'"
    assert fourth == Document("c", "", f"{path}:4 'text' must be text, got int")
