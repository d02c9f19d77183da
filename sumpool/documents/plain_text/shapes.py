"""Shapes of lines in plain text: list items, tables, drawings, code and ends of paragraphs."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sumpool.documents.plain_text.drawings import is_drawing
from sumpool.documents.plain_text.lines import TextRow
from sumpool.text.sentences import may_end_paragraph

_QUESTION, _ANSWER = re.compile(r"Q[.:] +\S"), re.compile(r"A[.:] +\S")
"""First lines of a question and of its answer."""
_FIELD = re.compile(r"[A-Z][\w-]{0,20}(?: [\w-]{1,20}){0,2} *: ")
_GAP = re.compile(r"(?<=[^\s.!?:]) {3,}(?=\S)|(?<=\S) {5,}(?=\S)|\t")
_CODE_LINE = re.compile(
    r"^(?:[$%>] \S|# (?!.*\.$)|>>> |\.\.\. |//|/\*|#include|#!|import \w+$|from \w+ import|def \w+\(|class \w+[(:])"
    r"|[{}\\]$|^\S+(?:\s\S+){0,3};$|\w\(\S*\);?$|^\S+=\S*$|^[\w.]+ [:+-]?= |^</?\w|/>$|&&|\|\|| \| \w+"
    r"|^--?\w[\w-]*(?:[ =]\S+)?$|^[./~][\w./-]+$"
)
_RAGGED = 15
"""Columns that a line may end before the edge although the paragraph goes on."""
_NARROW = 0.6
"""Share of the lines' width in the document below which lines were broken on purpose."""
_MAX_LINE = 160
"""Longest line of a hard-wrapped text; a longer one is a paragraph."""


def is_field(text: str) -> bool:
    """Return whether a line begins with the name of a field, as in the header of a mail."""
    return bool(_FIELD.match(text))


def _has_long_prose(rows: Sequence[TextRow]) -> bool:
    """Return whether a line is a whole paragraph: no limit breaks it, and it ends as a paragraph does."""
    return any(row.end > _MAX_LINE and may_end_paragraph(row.text) for row in rows)


def is_table(rows: Sequence[TextRow]) -> bool:
    """Return whether lines are rows of a table: most have cells apart from each other, in few columns."""
    if _has_long_prose(rows) and not has_bars(rows):
        return False
    cells = sum(bool(_GAP.search(row.text[row.mark :])) or row.text.count("|") > 1 for row in rows)
    return 2 * cells > len(rows) and (
        len(rows) > 1 or rows[0].text.count("|") > 1 or len(_GAP.findall(rows[0].text)) > 1
    )


def has_bars(rows: Sequence[TextRow]) -> bool:
    """Return whether all lines stand between vertical bars, as rows of a table in Markdown or reStructuredText do."""
    return all(len(row.text) > 2 and row.text[0] == row.text[-1] == "|" for row in rows)


def columns(line: str) -> str:
    """Return the cells of a row with single spaces between them."""
    return " ".join(line.replace("|", " ").split())


def is_drawing_of(rows: Sequence[TextRow]) -> bool:
    """Return whether lines are a drawing or a dump; a short line or one of another script is none."""
    if len(rows) < 2 or any(row.mark for row in rows):
        return False
    text = "".join(row.text for row in rows)
    is_ascii = text.isascii() or len(text.encode("ascii", "ignore")) >= 0.8 * len(text)
    return is_ascii and is_drawing([row.text for row in rows])


def is_code(rows: Sequence[TextRow], base_indent: int) -> bool:
    """Return whether lines are code or commands, by their characters, the more so where they are indented."""
    if rows[0].mark or _has_long_prose(rows):
        return False
    marked = sum(bool(_CODE_LINE.search(row.text)) for row in rows)
    indented = all(row.indent >= base_indent + 4 for row in rows)
    if indented and not any(may_end_paragraph(row.text) for row in rows):
        lower = all(row.text[0].islower() or not row.text[0].isalpha() for row in rows)
        return 2 * (marked + lower) > (1 if len(rows) == 1 else len(rows))
    return marked > (0.4 if indented else 0.6) * len(rows)


def split_paragraphs(rows: Sequence[TextRow], edge: int) -> Iterator[list[TextRow]]:
    """Split lines at list items, indented first lines, lines that end early, and between question and answer.

    Args:
        rows: Lines without an empty one between them.
        edge: Column where the lines of the document are wrapped.
    """
    early = _early_ends(rows, edge)
    hanging = len(rows) > 2 and rows[1].indent > rows[0].indent and not rows[0].mark
    fields = sum(is_field(row.text) for row in rows) > 1
    paragraph: list[TextRow] = []
    for index, row in enumerate(rows):
        if paragraph and (
            index - 1 in early
            or (fields and is_field(row.text))
            or _begins_item(paragraph, row)
            or _begins_paragraph(paragraph, row)
            or (hanging and _begins_entry(rows, index))
            or (_ANSWER.match(row.text) and _QUESTION.match(paragraph[0].text))
        ):
            yield paragraph
            paragraph = []
        paragraph.append(row)
    if paragraph:
        yield paragraph


def _early_ends(rows: Sequence[TextRow], edge: int) -> set[int]:
    """Return the indices of lines after which a paragraph ends, as the next word would have fitted."""
    if len(rows) < 2:
        return set()
    block_edge = max(row.end for row in rows)
    if len(rows) == 2 or block_edge < _NARROW * edge:
        block_edge = max(edge, block_edge)
    if block_edge > _MAX_LINE:
        return {index for index, row in enumerate(rows) if row.end > _MAX_LINE or may_end_paragraph(row.text)}
    early = {
        index
        for index, (row, following) in enumerate(pairwise(rows))
        if row.end + 1 + len(following.text.split(" ", 1)[0]) + _RAGGED <= min(block_edge, edge + _RAGGED)
    }
    breaks = {index for index in early if not rows[index + 1].text[0].islower() and rows[index].text[-1] not in ",-"}
    if 2 * len(early) > len(rows) - 1:
        return breaks
    return {index for index in breaks if may_end_paragraph(rows[index].text)}


def _begins_item(paragraph: Sequence[TextRow], row: TextRow) -> bool:
    if not row.mark:
        return False
    last = paragraph[-1]
    if paragraph[0].mark:
        return row.indent <= paragraph[0].indent or row.indent > last.indent or may_end_paragraph(last.text)
    return row.indent > last.indent or may_end_paragraph(last.text)


def _begins_paragraph(paragraph: Sequence[TextRow], row: TextRow) -> bool:
    """Return whether the first line of a paragraph is indented, as in books."""
    last = paragraph[-1]
    return 2 <= row.indent - last.indent <= 10 and len(paragraph) > 1 and may_end_paragraph(last.text)


def _begins_entry(rows: Sequence[TextRow], index: int) -> bool:
    """Return whether a line is a term above an indented definition, or the first line of the definition."""
    first, before, row = rows[0], rows[index - 1], rows[index]
    is_term = row.indent == first.indent and before.indent > row.indent
    is_definition = before.indent == first.indent and row.indent > before.indent and len(before.text) < 60
    return is_term or is_definition
