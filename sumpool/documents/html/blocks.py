"""Blocks of HTML markup: headings, paragraphs, list items, table rows, captions, code and notices.

HTML pages, chapters of EPUB books, HTML parts of mails and, as HTML, word-processor documents share this walk.
"""

from dataclasses import dataclass, replace
from typing import Final

from sumpool.documents.document import TextBlock, TextBlockKind, join_cells
from sumpool.documents.html.parts import (
    BLOCKS,
    CAPTION_NAMES,
    HEADINGS,
    LISTS,
    NOTICE_NAMES,
    PageParts,
    is_exponent,
    is_marker,
    is_navigation,
    is_permalink,
    is_reference,
)
from sumpool.documents.html.tree import HtmlElement

_KINDS: Final[dict[str, TextBlockKind]] = {"caption": "caption", "figcaption": "caption", "address": "notice"}
_MIN_CELL_WORDS = 12
"""Words from which the only cell of a row is a paragraph."""


@dataclass(frozen=True)
class _Context:
    kind: TextBlockKind = "paragraph"
    level: int = 0
    depth: int = 0
    """Depth of the list."""


class HtmlBlocks:
    """Walk through a tree that collects its blocks.

    Attributes:
        parts: Rules about what is dropped.
        blocks: Blocks so far.
    """

    def __init__(self, parts: PageParts) -> None:
        """Begin without blocks."""
        self.parts = parts
        self.blocks: list[TextBlock] = []
        self._texts: list[str] = []
        self._linked = 0
        self._links = 0
        self._link_end = -1
        self._line: int | None = None

    def read(self, element: HtmlElement) -> tuple[TextBlock, ...]:
        """Return the blocks of an element."""
        context = _Context()
        self._children(element, context)
        self._flush(context)
        return tuple(self.blocks)

    def _children(self, element: HtmlElement, context: _Context) -> None:
        for child in element.children:
            if isinstance(child, str):
                self._text(child, element)
            elif not self.parts.drops(child):
                self._element(child, context)

    def _text(self, text: str, element: HtmlElement) -> None:
        if self._line is None and text.strip():
            self._line = element.line
        self._texts.append(text.replace("\n", " "))

    def _element(self, element: HtmlElement, context: _Context) -> None:
        tag = element.tag
        if tag == "br":
            self._break(context)
        elif tag == "pre" or tag in ("listing", "xmp"):
            self._code(element, context)
        elif tag == "table":
            self._table(element, context)
        elif tag in HEADINGS or tag in BLOCKS or tag in ("li", "dt", "dd", *_KINDS):
            self._flush(context)
            inner = _inner_context(element, context)
            self._children(element, inner)
            self._flush(inner)
        else:
            self._inline(element, context)

    def _inline(self, element: HtmlElement, context: _Context) -> None:
        target = element.attributes.get("href", "") if element.tag == "a" else ""
        if target.startswith("#") and (is_marker(element) or is_permalink(element)):
            return
        if element.tag == "sup" and is_reference(element, "".join(self._texts[-2:])[-4:]):
            return
        if element.tag in ("sup", "sub"):
            self._mark_number(element)
        if element.tag == "q":
            self._texts.append("\u201c")
        if target and self._link_end == len(self._texts):
            self._texts.append(" ")  # links without a space between them are buttons of a menu
        before = len(self._texts)
        self._children(element, context)
        if target:
            self._link_end = len(self._texts)
            self._linked += sum(len(part.strip()) for part in self._texts[before:])
            self._links += 1
        if element.tag == "q":
            self._texts.append("\u201d")

    def _mark_number(self, element: HtmlElement) -> None:
        """Write the sign between a number and its exponent or base, which would be read as its last digits."""
        if element.tag == "sub" and self._texts[-3:-2] == ["^"] and self._texts[-1].strip() in ("/", "\u2044"):
            self._texts[-3] = " "  # a fraction behind a number
        elif is_exponent(element.text(), "".join(self._texts[-2:])[-4:]):
            self._texts.append("^" if element.tag == "sup" else "_")

    def _break(self, context: _Context) -> None:
        """Read a line break as a space; two of them end the paragraph."""
        last = next((part for part in reversed(self._texts) if part.strip(" \t")), "")
        if last == "\n":
            self._flush(context)
        else:
            self._texts.append("\n")

    def _code(self, element: HtmlElement, context: _Context) -> None:
        self._flush(context)
        lines = [line.rstrip() for line in _raw_text(element, self.parts).expandtabs().split("\n")]
        while lines and not lines[0]:
            del lines[0]
        text = "\n".join(lines).rstrip()
        if text:
            self.blocks.append(TextBlock(text, "code", line=element.line))

    def _table(self, element: HtmlElement, context: _Context) -> None:
        self._flush(context)
        for row in _rows(element):
            if row.tag != "tr":  # a caption
                self._element(row, context)
            elif not self.parts.drops(row):
                self.blocks.extend(self._row(row))

    def _row(self, row: HtmlElement) -> list[TextBlock]:
        """Return one block for a row of short cells, or the blocks of the cells of a table that is a layout."""
        row_cells = [
            HtmlBlocks(self.parts).read(cell)
            for cell in row.children
            if not isinstance(cell, str) and not self.parts.drops(cell)
        ]
        cells = [blocks for blocks in row_cells if blocks]
        simple = all(len(blocks) == 1 and blocks[0].kind == "paragraph" for blocks in cells)
        if simple and (len(cells) > 1 or (cells and len(cells[0][0].text.split()) < _MIN_CELL_WORDS)):
            text = join_cells(blocks[0].text if blocks else "" for blocks in row_cells)
            if is_navigation(text, row.linked, row.size, len(cells)):
                return []
            return [TextBlock(text, "table_row", line=cells[0][0].line)]
        return [_of_cell(block, len(blocks)) for blocks in cells for block in blocks]

    def _flush(self, context: _Context) -> None:
        """Append the text so far as a block."""
        text = " ".join("".join(self._texts).split())
        navigation = context.kind != "heading" and is_navigation(text, self._linked, len(text), self._links)
        if text and not (self.parts.site and navigation):
            self.blocks.append(TextBlock(text, context.kind, context.level, line=self._line))
        self._texts = []
        self._linked = self._links = 0
        self._link_end = -1
        self._line = None


def _inner_context(element: HtmlElement, context: _Context) -> _Context:
    """Return the kind and level of the text directly in an element."""
    tag = element.tag
    if tag in HEADINGS:
        return replace(context, kind="heading", level=int(tag[1]))
    if tag in LISTS:
        return replace(context, depth=context.depth + 1)
    if tag in ("li", "dt"):
        return replace(context, kind="list_item", level=max(1, context.depth))
    if tag == "dd":
        return replace(context, kind="paragraph", level=0)
    if tag in _KINDS:
        return replace(context, kind=_KINDS[tag], level=0)
    names = element.names()
    if any(name in NOTICE_NAMES for name in names):
        return replace(context, kind="notice", level=0)
    if any(name in CAPTION_NAMES for name in names) or (tag == "p" and "title" in names):
        return replace(context, kind="caption", level=0)
    return context


def _rows(table: HtmlElement) -> list[HtmlElement]:
    """Return the rows and captions of a table, without those of tables inside it."""
    rows: list[HtmlElement] = []
    for child in table.children:
        if isinstance(child, str):
            continue
        if child.tag in ("tr", "caption"):
            rows.append(child)
        elif child.tag in ("thead", "tbody", "tfoot", "form"):
            rows.extend(_rows(child))
    return rows


def _of_cell(block: TextBlock, blocks: int) -> TextBlock:
    """Return a block of a cell; a short text alone in its cell is part of a row."""
    short = blocks == 1 and block.kind == "paragraph" and len(block.text.split()) < _MIN_CELL_WORDS
    return replace(block, kind="table_row") if short else block


def _raw_text(element: HtmlElement, parts: PageParts) -> str:
    """Return the text of code with its lines."""
    texts = []
    for child in element.children:
        if isinstance(child, str):
            texts.append(child)
        elif child.tag == "br":
            texts.append("\n")
        elif not parts.drops(child):
            texts.append(_raw_text(child, parts))
    return "".join(texts)
