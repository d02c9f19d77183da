"""Structure of a plain text: headings, paragraphs, list items, table rows, captions and code, by the layout of lines.

Files and rows are read alike: a file becomes blocks of joined lines, a row spans of its own text, which stays as it is,
so that offsets in it are valid.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sumpool.documents.document import TextBlock, TextBlockKind
from sumpool.documents.plain_text.drawings import is_rule
from sumpool.documents.plain_text.headings import Headings
from sumpool.documents.plain_text.lines import TextRow, is_fenced, is_outline, join_rows, right_edge, row_groups
from sumpool.documents.plain_text.shapes import (
    columns,
    has_bars,
    is_code,
    is_drawing_of,
    is_table,
    split_paragraphs,
)
from sumpool.documents.sections import CAPTION, is_caption

_LINE_END = re.compile(r"\r\n|\r|\n")


class TextPart(NamedTuple):
    """Part of a text.

    Attributes:
        kind: Kind of the part.
        rows: Its lines; the mark of the first is that of a list item or a heading.
        level: Depth of a heading or a list item, from 1; 0 for other kinds.
    """

    kind: TextBlockKind
    rows: Sequence[TextRow]
    level: int = 0


class TextSpan(NamedTuple):
    """Span of a part of a text.

    Attributes:
        start: Start in the text, in characters, behind the mark of a list item or a heading.
        end: End in the text, in characters.
        kind: Kind of the part.
        level: Depth of a heading or a list item, from 1; 0 for other kinds.
    """

    start: int
    end: int
    kind: TextBlockKind = "paragraph"
    level: int = 0


def text_blocks(text: str) -> Iterator[TextBlock]:
    """Yield the blocks of a text, each in one line but for code."""
    for part in text_parts(text):
        first, *others = part.rows
        if part.kind == "code":
            indent = min(row.indent for row in part.rows)
            content = "\n".join(" " * (row.indent - indent) + row.text for row in part.rows)
        elif part.kind == "table_row":
            content = columns(first.text)
        else:
            content = join_rows([first._replace(text=first.text[first.mark :]), *others])
        yield TextBlock(content, part.kind, part.level, line=first.number)


def text_spans(text: str) -> list[TextSpan]:
    """Return the spans of the parts of a text, in order.

    Rules, page headers and page footers belong to none; a part that they interrupt has a span on each side.
    """
    starts = [0, *(end.end() for end in _LINE_END.finditer(text)), len(text)]
    return [
        TextSpan(*span, part.kind, part.level) for part in text_parts(text) for span in _spans(text, starts, part.rows)
    ]


def _spans(text: str, starts: Sequence[int], rows: Sequence[TextRow]) -> Iterator[tuple[int, int]]:
    """Yield the spans of lines, one where only white space is between them."""
    start, end = _offsets(text, starts, rows[0])
    start += _mark_length(text[start:end], rows[0])
    for row in rows[1:]:
        begin, stop = _offsets(text, starts, row)
        if text[end:begin].strip():
            yield start, end
            start = begin
        end = stop
    yield start, end


def _offsets(text: str, starts: Sequence[int], row: TextRow) -> tuple[int, int]:
    start = starts[row.number - 1]
    line = text[start : starts[row.number]]
    return start + len(line) - len(line.lstrip()), start + len(line.rstrip())


def _mark_length(line: str, row: TextRow) -> int:
    """Return the length of the mark of a row in its line, where tabs may stand behind it."""
    is_apart = row.text[row.mark - 1].isspace() if row.mark else False
    return len(line) - len(line.split(None, 1)[-1]) if is_apart else row.mark


def text_parts(text: str) -> Iterator[TextPart]:
    """Yield the parts of a text in order, without rules and what recurs on its pages."""
    groups = row_groups(text)
    edge = right_edge(groups)
    headings = Headings(groups, is_outline=is_outline(text))
    for index in range(len(groups)):
        for heading, rows in headings.split(index):
            if heading:
                yield TextPart("heading", *heading)
            yield from _body(rows, edge, headings.base_indent)


def _body(rows: list[TextRow], edge: int, base_indent: int) -> Iterator[TextPart]:
    """Yield the parts of lines without an empty line or a heading between them."""
    if is_fenced(rows):
        yield TextPart("code", (rows[1:-1] or rows) if rows[0].text[0] == "`" else rows)
        return
    rows = [row for row in rows if not is_rule(row.text)]
    if not rows:
        return
    if not has_bars(rows) and (is_drawing_of(rows) or is_code(rows, base_indent)):
        yield TextPart("code", rows)
    elif is_table(rows):
        yield from (TextPart("table_row", [row]) for row in rows)
    else:
        for paragraph in split_paragraphs(rows, edge):
            yield _paragraph(paragraph, base_indent)


def _paragraph(rows: list[TextRow], base_indent: int) -> TextPart:
    if rows[0].mark:
        return TextPart("list_item", rows, 1 + max(0, rows[0].indent - base_indent) // 4)
    may_be_caption = CAPTION.match(rows[0].text)
    return TextPart("caption" if may_be_caption and is_caption(join_rows(rows)) else "paragraph", rows)
