import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import common
import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, TextBlock
from sumpool.documents.formats import load_format

SENTENCE = "This report describes how the reservoirs of the northern valley were measured over a period of ten years."
MakeRow = Callable[[str, int], common.Row]


@pytest.fixture
def make_row() -> MakeRow:
    def row(package: str, seed: int) -> common.Row:
        """Row whose words are no other seed's, except for words that tell the language."""
        document = " ".join(f"The word{seed}x{index} of the text is{seed}here." for index in range(100))
        summary = " ".join(f"A sum{seed}x{index} of it is in the text." for index in range(5))
        return common.Row(f"{package}/{seed}", "Title", document, summary, package, "GPL-3")

    return row


def test_markdown_keeps_the_structure() -> None:
    blocks = (
        TextBlock("Report", "heading", 1),
        TextBlock("Contents", "notice"),
        TextBlock(SENTENCE),
        TextBlock("first", "list_item", 1),
        TextBlock("below", "list_item", 2),
        TextBlock("year 1990", "table_row"),
        TextBlock("year 1991", "table_row"),
        TextBlock("x <- 1\n\ny <- 2", "code"),
        TextBlock("deep", "list_item", 3),
    )
    markdown = common.to_markdown(blocks)
    parsed = load_format("markdown").parse(markdown.encode(), DEFAULT_OPTIONS).blocks
    kept = [block for block in blocks if block.kind != "notice"]
    assert [(block.kind, block.text) for block in parsed] == [(block.kind, block.text) for block in kept]
    assert [block.level for block in parsed if block.kind == "list_item"] == [1, 2, 1]


def test_a_reference_that_stands_in_the_document_is_noticed(make_row: MakeRow) -> None:
    row = make_row("a", 1)
    assert common.leak(SENTENCE, f"It was so. {SENTENCE.upper()} And then?") == 1
    assert common.leak(SENTENCE, row.document) == 0
    assert common.fault(row) == ""
    assert common.fault(replace(row, document=f"{row.document} {row.summary}")) == "reference in the document"
    assert common.fault(replace(row, document="too short")) == "length of the document"
    assert common.fault(replace(row, summary="too short")) == "length of the reference"
    german = "Der Bericht beschreibt die Messungen und ist nicht auf das Tal beschränkt, weil sie auch hier sind. " * 3
    assert common.fault(replace(row, summary=german)) == "language"


def test_duplicates_are_dropped(make_row: MakeRow) -> None:
    first, second = make_row("a", 1), make_row("b", 2)
    same_document = replace(make_row("c", 3), document=first.document)
    same_summary = replace(make_row("d", 4), summary=second.summary)
    assert list(common.distinct([first, second, same_document, same_summary])) == [first, second]


def test_a_corpus_has_no_package_in_both_halves(make_row: MakeRow, tmp_path: Path) -> None:
    rows = [make_row(f"package{seed // 3}", seed) for seed in range(60)]
    common.write_corpus(tmp_path / "kind", rows, per_package=2)
    halves = [common.read_corpus(tmp_path / "kind" / f"{name}.jsonl") for name in common.HALVES]
    assert all(halves)
    assert sum(map(len, halves)) == 40
    assert not {row.package for row in halves[0]} & {row.package for row in halves[1]}
    first = json.loads((tmp_path / "kind/test.jsonl").read_text().partition("\n")[0])
    assert list(first) == ["id", "title", "document", "summary", "package", "licence"]


def test_a_document_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.md"
    file.write_text(f"# Title\n\n{SENTENCE}\n\n# References\n\n[1] A book.\n")
    first = common.parse(file, tmp_path / "cache")
    monkeypatch.setattr(common, "read_documents", None)
    assert common.parse(file, tmp_path / "cache") == first
    assert first.blocks[-1].text == "[1] A book."


def test_packages_have_licences(tmp_path: Path) -> None:
    folder = tmp_path / "usr/share/doc/a"
    folder.mkdir(parents=True)
    assert common.debian_licence(tmp_path, "a") == "see copyright"
    (folder / "copyright").write_text("The full text is in /usr/share/common-licenses/GPL-2.\n")
    assert common.debian_licence(tmp_path, "a") == "GPL-2"
    (folder / "copyright").write_text("Files: *\nLicense: Artistic-2.0\n\nFiles: debian/*\nLicense: MIT\n")
    assert common.debian_licence(tmp_path, "a") == "Artistic-2.0"


def test_coverage_is_the_share_of_the_longer_words() -> None:
    assert common.coverage("The gauges of rivers and seas", "Rivers have gauges.") == 2 / 3
    assert common.coverage("of the", "of") == 0.0
