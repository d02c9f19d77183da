"""Documents of word processors from their tree of HTML elements."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from sumpool.documents.document import ParsedDocument, TextBlock, opening_heading
from sumpool.documents.html.blocks import HtmlBlocks
from sumpool.documents.html.page_parts import PageParts
from sumpool.documents.html.tree import HtmlElement

TITLE_CLASS: Final = "doc-title"
"""Class of the paragraph with the style "Title"."""
_NO_TITLE: Final = re.compile(
    r"(?:microsoft word - .*|untitled|title|document\d*|dokument\d*|normal|template|word document"
    r"|.*\.(?:docx?|odt|dotx?))?",
    re.IGNORECASE,
)
"""Titles that word processors put in by themselves."""


def office_document(tree: HtmlElement, property_title: str) -> ParsedDocument:
    """Return the document of a tree.

    Args:
        tree: Tree with HTML elements.
        property_title: Title in the properties of the file; empty if there is none.
    """
    read = HtmlBlocks(PageParts(max(tree.size, 1), site=False)).read(tree)
    blocks = tuple(_without_lines(read))
    styled = next((element for element in tree.descendants() if TITLE_CLASS in element.names()), None)
    title = " ".join(styled.text().split()) if styled else ""
    if not title and not _NO_TITLE.fullmatch(property_title):
        title = property_title
    return ParsedDocument(blocks, title or opening_heading(blocks))


def _without_lines(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Yield blocks without lines of a source; successive paragraphs of code are one block."""
    code: list[str] = []
    for block in blocks:
        if block.kind == "code":
            code.append(block.text)
            continue
        if code:
            yield TextBlock("\n".join(code), "code")
            code = []
        yield replace(block, line=None)
    if code:
        yield TextBlock("\n".join(code), "code")
