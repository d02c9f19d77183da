from pathlib import Path

import pytest

from sumpool.documents.read import read_all
from sumpool.errors import DataError
from sumpool.ranking.marks import marked_examples, write_sheets
from tests.conftest import story


@pytest.fixture
def documents(tmp_path: Path) -> list[str]:
    """Names of two texts, of a row and of a file that cannot be read."""
    for number in range(2):
        (tmp_path / f"{number}.txt").write_text(story(number, 20))
    (tmp_path / "rows.jsonl").write_text('{"document": "Hosts send packets to all of the gateways."}\n')
    (tmp_path / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    return [str(tmp_path / name) for name in ("0.txt", "1.txt", "rows.jsonl", "torn.pdf")]


def test_sheets_that_are_filled_in_become_examples(tmp_path: Path, documents: list[str]) -> None:
    sheets, notices = tmp_path / "marks", list[str]()
    assert write_sheets(read_all(documents), sheets, notices.append) == 2
    assert [path.name for path in sorted(sheets.iterdir())] == ["0.txt.txt", "1.txt.txt"]
    assert "rows.jsonl" in notices[0]
    assert "must be a file of its own to be marked, got a row or a stream" in notices[0]
    assert "torn.pdf" in notices[1]
    path = sheets / "1.txt.txt"
    path.write_text(path.read_text().replace("\nbest:", "\nbest: 3 1").replace("\njunk:", "\njunk: 0"))
    (example,) = marked_examples(sheets)
    assert example.preference[[0, 1, 3]].tolist() == [0, 0.85, 1]
    assert example.junk.sum() == 1
    assert write_sheets(read_all(documents[:2]), sheets, notices.append) == 0
    assert notices[-1] == f"{path} is there already and stays as it is"
    assert "best: 3 1" in path.read_text()


def test_files_of_the_same_name_have_a_sheet_each(tmp_path: Path) -> None:
    sheets, notices = tmp_path / "marks", list[str]()
    for number in range(2):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}/README.txt").write_text(story(number, 20))
    for _ in range(2):
        for number in range(2):
            write_sheets(read_all([str(tmp_path / f"{number}/README.txt")]), sheets, notices.append)
    assert len(list(sheets.rglob("*.txt"))) == 2
    assert [notice.partition(" is there")[1] for notice in notices] == [" is there"] * 2


def test_faults_of_sheets_are_named(tmp_path: Path, documents: list[str]) -> None:
    with pytest.raises(DataError, match="must be a folder of sheets, got none; write them with: sumpool mark FILE"):
        list(marked_examples(tmp_path / "none"))
    write_sheets(read_all(documents[:1]), tmp_path / "marks", list[str]().append)
    path = tmp_path / "marks" / "0.txt.txt"
    path.write_text(path.read_text().replace("\nbest:", "\nbest: 900"))
    with pytest.raises(DataError, match=r"0\.txt\.txt best: must be numbers of sentences, at most 19"):
        list(marked_examples(tmp_path / "marks"))
    (tmp_path / "0.txt").unlink()
    with pytest.raises(DataError, match=r"0\.txt\.txt must be about a document that can be read, got: "):
        list(marked_examples(tmp_path / "marks"))
