"""Markdown of documents: our own reader reads the same blocks from it."""

from dataclasses import astuple
from pathlib import Path

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, Document, TextBlock
from sumpool.documents.formats import load_format
from sumpool.documents.formats.markdown import as_markdown
from sumpool.documents.read import read_documents

SAMPLES = Path(__file__).parent / "formats/samples"
HOSTILE = Document(
    "a",
    "",
    title="On <lists>",
    blocks=(
        TextBlock("deep at once", "list_item", 3, 1),
        TextBlock("* 1. a_b_ [x](y) `z`", "list_item", 1, 1),
        TextBlock("- below", "list_item", 2, 2),
        TextBlock("=== Not a tab", "paragraph", 0, 2),
        TextBlock("::: | &amp; <b> ---", "paragraph", 0, 2),
        TextBlock("---", "paragraph", 0, 2),
        TextBlock("# Six", "heading", 6, 2),
        TextBlock("| b", "table_row", 0, 3),
        TextBlock("c | | d", "table_row", 0, 3),
        TextBlock("```x\n\n  | y\n````", "code", 0, 3),
        TextBlock("By the editors", "caption", 0, 3),
        TextBlock("All rights reserved.", "notice", 0, 4),
        TextBlock("Prose again.", "paragraph", 0, 4),
    ),
)


def _shapes(document: Document) -> list[tuple[object, ...]]:
    return [astuple(block)[:4] for block in document.blocks]


@pytest.mark.parametrize("name", ["rfc.txt", "html.html", "docx.docx", "pdf.pdf", "rst.rst", "xlsx.xlsx", "hostile"])
def test_blocks_are_read_again(name: str) -> None:
    document = HOSTILE if name == "hostile" else next(iter(read_documents(str(SAMPLES / name))))
    assert document.blocks, document.error
    again = load_format("markdown").parse(as_markdown(document).encode(), DEFAULT_OPTIONS)
    assert _shapes(Document.from_parsed("", again)) == _shapes(document)
    assert again.title == document.title


def test_structure_is_that_of_markdown() -> None:
    lines = as_markdown(HOSTILE).split("\n")
    assert lines[:8] == [
        "---", 'title: "On <lists>"', "---", "", "<!-- page 1 -->", "", "- - - deep at once",
        r"- \* 1. a_b\_ \[x\](y) \`z\`",
    ]  # fmt: skip
    assert "|  | b |  |\n| --- | --- | --- |\n| c |  | d |" in as_markdown(HOSTILE)
    assert as_markdown(Document("a", "One\nline.\n\n# Two")) == "One line.\n\n\\# Two"
