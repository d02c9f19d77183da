from pathlib import Path

import pytest

from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.documents.read import read_all
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.errors import DataError
from sumpool.ranking.marks import (
    HEAD,
    TAIL,
    marked_examples,
    numbered_text,
    parse_sheet,
    sheet,
    sheet_fields,
    shown_indices,
    split_document,
    write_sheets,
)
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story

BLOCKS = (
    TextBlock("Packets", "heading", 1),
    TextBlock("Hosts send packets. They are short."),
    TextBlock("Gateways forward them.", "list_item", 1),
    TextBlock("Table 1", "table_row"),
    TextBlock("A picture of a packet.", "caption"),
)
DOCUMENT = Document.from_parsed("a.html", ParsedDocument(BLOCKS, "Packets"))
SENTENCES = source_sentences(DOCUMENT, SentenceSplitter())


def filled(**fields: str) -> str:
    text = sheet(DOCUMENT, SENTENCES, Path("/docs/a.html"))
    for name, value in fields.items():
        text = text.replace(f"\n{name}:", f"\n{name}: {value}", 1)
    return text


def test_a_sheet_shows_numbers_of_sentences_and_headings_without() -> None:
    text = filled()
    assert text.startswith(f"document: {Path('/docs/a.html')}\nkind:\nsays:\nbest:\n")
    assert text.endswith(
        "\n\ntitle: Packets\n\n## Packets\n\n1: Hosts send packets.\n2: They are short.\n3: - Gateways forward them."
        "\n\n5: (caption) A picture of a packet.\n"
    )
    assert sheet_fields(text)["document"] == str(Path("/docs/a.html"))


def test_sentences_are_those_of_the_language() -> None:
    first = "Das Handbuch wurde am 3. Oktober von Dr. Meier für den Betrieb geschrieben."
    text = f"{first} Der Rechner sendet Pakete an das Gateway. Es leitet sie z. B. an den Router weiter."
    sentences, language = split_document(Document("a", text))
    assert (language, sentences[0].text) == ("de", first)


def test_fields_become_marks() -> None:
    text = filled(best="1, 3", dep="2-3", junk="0 4 5", kind="note", says="Hosts: senders.")
    marks = parse_sheet(text, SENTENCES)
    assert (marks.best, marks.good, marks.dep, marks.junk) == ((1, 3), (), (2, 3), (5,))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"best": "99"}, "best: must be numbers of sentences, at most 5, such as 4 or 10-12, got '99'"),
        ({"best": "one"}, "best: must be numbers of sentences, at most 5, such as 4 or 10-12, got 'one'"),
        ({"best": "1", "junk": "3-2"}, "junk: must be numbers of sentences, at most 5, such as 4 or 10-12, got '3-2'"),
        ({"best": "1" * 30}, "best: must be numbers"),
        ({"good": "1"}, "must name at least one sentence after best:, got none"),
    ],
)
def test_what_is_no_number_is_refused(fields: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_sheet(filled(**fields), SENTENCES)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match="must have fields such as `best: 4 17`, got 'bets'"):
        parse_sheet("bets: 1", SENTENCES)


def test_of_long_documents_beginning_and_end_are_shown() -> None:
    many = [SourceSentence(f"Sentence {number}.", 0, 1, number) for number in range(HEAD + TAIL + 50)]
    shown = shown_indices(many)
    assert len(shown) == HEAD + TAIL
    assert shown[HEAD - 1 : HEAD + 1] == [HEAD - 1, HEAD + 50]
    assert shown_indices(many[: HEAD + TAIL]) == list(range(HEAD + TAIL))
    text = numbered_text(many)
    assert text.count("[...]") == 1
    assert f"{HEAD - 1}: Sentence {HEAD - 1}." in text
    assert f"{HEAD}: " not in text
    assert f"{HEAD + 50}: Sentence {HEAD + 50}." in text


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
    filled_in = path.read_text().replace("\nbest:", "\nbest: 3 1").replace("\ndep:", "\ndep: 1 2")
    path.write_text("\n" + filled_in.replace("\njunk:", "\njunk: 0"))
    (example,) = marked_examples(sheets)
    assert example.preference[[0, 1, 3]].tolist() == [0, 0.85, 1]
    assert example.dependence.nonzero()[0].tolist() == [2]  # the best need no other
    assert example.junk.sum() == 1
    assert example.judged[:4].tolist() == [False, True, True, True]
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
