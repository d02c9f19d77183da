"""Rows of the small tasks that the papers' comparisons converge on."""

import gzip
import json
from pathlib import Path

import copying
import genres
import ordered
import pytest


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_summaries_are_the_content_words_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["copying.py", str(tmp_path)])
    copying.main()
    rows = rows_of(tmp_path / "validation.jsonl")
    content = {word for row in rows for word in row["summary"].split()}
    assert len(content) == 64
    for row in rows:
        words = row["document"].split()
        assert len(words) == copying.WORDS
        assert [word for word in words if word in content] == row["summary"].split()
        assert len(row["summary"].split()) == copying.CONTENT


def test_sentences_are_written_in_the_order_of_their_numerals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ordered.py", str(tmp_path)])
    ordered.main()
    for row in rows_of(tmp_path / "test.jsonl"):
        sentences = row["summary"].split(". ")
        assert [sentence.split()[0] for sentence in sentences] == ["One", "Two", "Three", "Four", "Five", "Six"]
        assert sorted(row["document"].replace(".", "").split()) == sorted(row["summary"].replace(".", "").split())


def test_passages_are_in_the_layout_of_reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder, text in (
        ("man{}.1.gz", "manuals/man1", ".TH MAN 1\n.SH DESCRIPTION\nlists page {} "),
        ("rfc{}.txt.gz", "rfcs", "A Title\n\n1.  Introduction\n\n   This memo number {} "),
    ):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(3):
            page = text.format(number) + "words of a long paragraph " * 12 + "\n\nShort.\n"
            (tmp_path / folder / name.format(number)).write_bytes(gzip.compress(page.encode()))
    monkeypatch.setattr(genres, "ROWS", {"train": 2, "test": 1})
    monkeypatch.setattr("sys.argv", ["genres.py", *(str(tmp_path / part) for part in ("manuals", "rfcs", "out"))])
    genres.main()
    texts = {path.relative_to(tmp_path / "out").parts: path.read_text() for path in tmp_path.glob("out/*/*/*.txt")}
    assert sorted({parts[:2] for parts in texts}) == [
        (split, side) for split in ("test", "train") for side in ("neg", "pos")
    ]
    assert {len(text) for text in texts.values()} == {genres.BYTES}
    assert all(("lists page" in text) == (parts[1] == "neg") for parts, text in texts.items())
    assert len(set(texts.values())) == 6
