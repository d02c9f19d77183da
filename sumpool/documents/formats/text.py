"""Plain text: paragraphs, headings, lists, tables and code, recognised by the layout of lines."""

from collections.abc import Iterator

from sumpool.documents.captions import is_caption
from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock, opening_heading
from sumpool.documents.plain_text.headings import Headings
from sumpool.documents.plain_text.lines import TextRow, is_outline, join_rows, right_edge, row_groups
from sumpool.documents.plain_text.shapes import (
    columns,
    has_bars,
    is_code,
    is_drawing_of,
    is_rule,
    is_table,
    split_paragraphs,
)


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a text.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    del options
    text, notes = decode_text(content)
    blocks = tuple(text_blocks(text))
    title = opening_heading(blocks) if blocks and blocks[0].kind == "heading" else ""
    return ParsedDocument(blocks, title, notes)


def text_blocks(text: str) -> Iterator[TextBlock]:
    """Yield the blocks of a text."""
    groups = row_groups(text)
    edge = right_edge(groups)
    headings = Headings(groups, is_outline=is_outline(text))
    for index in range(len(groups)):
        for heading, rows in headings.split(index):
            if heading:
                yield heading
            yield from _body_blocks(rows, edge, headings.base_indent) if rows else ()


def _body_blocks(rows: list[TextRow], edge: int, base_indent: int) -> Iterator[TextBlock]:
    """Yield the blocks of lines without an empty line or a heading between them."""
    rows = [row for row in rows if not is_rule(row.text)]
    if not rows:
        return
    if not has_bars(rows) and (is_drawing_of(rows) or is_code(rows, base_indent)):
        indent = min(row.indent for row in rows)
        yield TextBlock("\n".join(" " * (row.indent - indent) + row.text for row in rows), "code", line=rows[0].number)
        return
    if is_table(rows):
        for row in rows:
            yield TextBlock(columns(row.text), "table_row", line=row.number)
        return
    for paragraph in split_paragraphs(rows, edge):
        first = paragraph[0]
        level = 1 + max(0, paragraph[0].indent - base_indent) // 4
        text = join_rows([first._replace(text=first.text[first.mark :]), *paragraph[1:]])
        if first.mark:
            yield TextBlock(text, "list_item", level, line=first.number)
        else:
            yield TextBlock(text, "caption" if is_caption(text) else "paragraph", line=first.number)
