"""Kinds of lines in PDF files: prose, code, formulas, rows of tables, entries of contents, notes below a page.

They differ from the running text of the file in size, spacing and style.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise
from typing import Final

from sumpool.documents.pdf.layout import PrintedLine
from sumpool.documents.sections import CAPTION

_TYPED: Final = 0.9  # share of monospaced characters in a typed document
_BOLD: Final = 0.6  # share of bold characters in a document in bold
_BLANK: Final = 1.28  # distance between paragraphs, in distances between lines
_LOOSE: Final = 1.1  # the same on pages that are set wider than the others
_RUNNING: Final = 6  # lines of a page that others continue, in a size in which it has running text
_WIDEST: Final = 4.0  # distance between the lines of a text, in font sizes
_FULL: Final = 0.8  # width of such a line, in widths of its column
_MIN_SIZE: Final = 0.1  # points; a file may set text in a font of size 0

_NOTE_SIZE: Final = 0.94  # largest size of notes, in sizes of the text
_LARGE: Final = 1.2  # size from which monospaced text is a heading, in sizes of the text
_TAIL: Final = 100  # characters at the end of a line that show a page number
_FULL_LINE: Final = 0.12  # free end of a line that others continue, in widths of the column
_MONO_SHARE: Final = 0.85
_MATH_SHARE: Final = 0.3
_ALIGNED: Final = 3.0  # points between the edges of cells in one column
_STRETCHED: Final = 2.0  # widest gap of a justified line, in font sizes
_FILLED: Final = 0.8  # width of the words of a justified line, in widths of the column
_MEANING_WORDS: Final = 4  # words of a definition on its first line
_WRAPPED: Final = 3  # lines without a page number in a table of contents
_REACH: Final = 3  # lines between two rows of a table

BULLET = re.compile(
    "([\u2022\u25e6\u2023\u25aa\u25ab\u25cf\u25cb\u25a0\u25a1\u25c6\u25c7\u2043\u25ba\u25b6\u27a2\u2713\uf000-\uf0ff]"
    "\\s*|[\u2013\u2014\u2219\u00b7\u2217*\u2212-]\\s+|o\\s\\s+)(?=\\S)"
)
ENUMERATOR = re.compile(r"(\(?(\d{1,3}|[a-z]|[ivx]{1,4})\)|\d{1,3}\.|[a-z]\.|\[\d{1,3}\])\s+(?=\S)")
CONTENTS_HEADING = re.compile(
    r"((short|brief|table of|list of)?\s*contents|list of (figures|tables)|(\w+ )?index|inhalt(sverzeichnis)?"
    r"|table des matières|índice( general)?|содержание|оглавление|目次|目录|sommaire|indice)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\W|\(?[\dA-Za-z]{1,3}[.)]|\d{1,2}|[A-Z]?\d*(\.\d+)+\.?|\[\d+\]")
_LEADER = re.compile(r"([.·…]\s?){4,}\s*([\divxlc]{1,5}|[A-Z]-?\d+)?(,\s?\d+)*$", re.IGNORECASE)
_ENDS_IN_PAGE = re.compile(r"(^|\s)([A-Z]-)?(\d{1,4}|[ivxl]{1,6})([\u2013-]\d+)?(,\s?\d+([\u2013-]\d+)?)*$")
_NOTE_START = re.compile(r"([\u2217*†‡§¶]+|\d{1,2})\s*\S|\(\d\)\s")
_LETTERS = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True)
class Body:
    """Measures of the running text of a document.

    Attributes:
        size: Font size in points.
        leading: Distance between lines, in font sizes.
        mono: Whether the running text is monospaced.
        bold: Whether the running text is bold.
        pages: Distance between the lines of running text for each page and size that have some, in points.
    """

    size: float
    leading: float
    mono: bool
    bold: bool
    pages: Mapping[tuple[int, float], float] = field(default_factory=dict)

    def is_running(self, line: PrintedLine) -> bool:
        """Return whether the page of a line has running text in its size."""
        return (line.page, round(line.size, 1)) in self.pages

    def widest(self, line: PrintedLine, size: float) -> float:
        """Return the widest distance in points between a line and the next one of a paragraph in a font size."""
        usual = _BLANK * self.leading * size
        running = self.pages.get((line.page, round(line.size, 1)), 0.0)
        return usual if running <= usual else _LOOSE * running


def measure_body(lines: Sequence[PrintedLine]) -> Body:
    """Measure the running text."""
    total = sum(len(line.text) for line in lines)
    mono = sum(len(line.text) * line.share("mono") for line in lines) > _TYPED * total
    bold = sum(len(line.text) * line.share("bold") for line in lines) > _BOLD * total
    sizes, leadings = Counter[float](), Counter[float]()
    for line in lines:
        if mono or line.share("mono") < 0.5:
            sizes[max(round(line.size, 1), _MIN_SIZE)] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    for line, following in pairwise(lines):
        if (line.page, line.column) == (following.page, following.column) and abs(line.size - size) < 0.3:
            leadings[round((following.y - line.y) / size, 1)] += 1
    usual = [(count, -leading) for leading, count in leadings.items() if 0.9 <= leading <= 3]
    return Body(size, -max(usual)[1] if usual else 1.2, mono, bold, _running_text(lines))


def _running_text(lines: Sequence[PrintedLine]) -> dict[tuple[int, float], float]:
    """Return the distance between full lines that do not end a sentence, for each page and size with enough of them."""
    gaps: dict[tuple[int, float], Counter[float]] = defaultdict(Counter)
    for line, following in pairwise(lines):
        same = (line.page, line.column) == (following.page, following.column) and abs(line.size - following.size) < 0.3
        full = line.x1 - line.left >= _FULL * (line.right - line.left)
        if same and full and len(line.segments) == 1 and not line.text.endswith((".", ":", "?", "!")):
            gaps[line.page, round(line.size, 1)][round(following.y - line.y, 1)] += 1
    usual = {key: counts.most_common(1)[0] for key, counts in gaps.items()}
    return {key: gap for key, (gap, count) in usual.items() if count >= _RUNNING and gap <= _WIDEST * key[1]}


class LineKind(Enum):
    """Kind of a line."""

    TEXT = auto()
    CODE = auto()
    FORMULA = auto()
    ROW = auto()
    DEFINITION = auto()
    CONTENTS = auto()
    NOTE = auto()


def classify_lines(lines: Sequence[PrintedLine], body: Body) -> list[LineKind]:
    """Return the kind of each line."""
    kinds = [_alone(line, body) for line in lines]
    _unmark_continuations(lines, kinds, body)
    _mark_definitions(lines, kinds)
    _mark_rows(lines, kinds, body)
    _mark_contents(lines, kinds, body)
    _mark_notes(lines, kinds, body)
    return kinds


def _alone(line: PrintedLine, body: Body) -> LineKind:
    """Return the kind of a line as far as the line itself shows it."""
    text = line.text
    if _LEADER.search(text[-_TAIL:]):
        return LineKind.CONTENTS
    if (
        not body.mono
        and line.size < _LARGE * body.size
        and line.share("mono") >= _MONO_SHARE * (1 - line.share("math")) > 0
    ):
        return LineKind.CODE
    words = sum(map(len, _LETTERS.findall(text)))
    if _is_scattered(line):
        return LineKind.FORMULA
    if (line.share("math") >= _MATH_SHARE or _is_symbolic(text)) and words < 0.4 * len(text):
        return LineKind.FORMULA
    return LineKind.TEXT


def _is_scattered(line: PrintedLine) -> bool:
    """Return whether a line holds single characters, as music and diagrams do, or no letters."""
    parts = line.text.split()
    if len(parts) >= 5 and sum(len(part) == 1 for part in parts) > 0.8 * len(parts):
        return True
    return not any(map(str.isalpha, line.text))


def _is_symbolic(text: str) -> bool:
    """Return whether a line holds relations and few words, as formulas do."""
    return bool(re.search(r"[=≤≥≈∈∑∫∏√∂→⇒±\u00d7∀∃⊂\u222a∩]", text)) and len(text) >= 3


def _mark_rows(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Mark lines with several cells that align with those of a line nearby."""
    several = [
        number
        for number, line in enumerate(lines)
        if len(line.segments) > 1
        and kinds[number] in (LineKind.TEXT, LineKind.FORMULA)
        and not _is_labelled(line)
        and not _is_stretched(line)
    ]
    for number, following in pairwise(several):
        line, other = lines[number], lines[following]
        near = following - number <= _REACH and (line.page, line.column) == (other.page, other.column)
        if near and other.y - line.y <= (_REACH + 1) * body.leading * body.size and _aligned(line, other):
            for index in range(number, following + 1):
                inside = index in (number, following) or lines[index].x0 > line.x0 + _ALIGNED
                if inside or lines[index].x1 < (line.left + line.right) / 2:
                    kinds[index] = LineKind.ROW


def _is_labelled(line: PrintedLine) -> bool:
    """Return whether the first of two parts is the mark of a list item or the number of a heading."""
    return len(line.segments) == 2 and bool(_LABEL.fullmatch(line.segments[0].text))


def _unmark_continuations(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Turn a line of code or numbers into text where it continues the sentence of a full line above."""
    for number in range(1, len(lines)):
        line, before = lines[number], lines[number - 1]
        if kinds[number] not in (LineKind.CODE, LineKind.FORMULA) or kinds[number - 1] is not LineKind.TEXT:
            continue
        near = (line.page, line.column) == (before.page, before.column)
        near = near and line.y - before.y <= 1.15 * body.leading * max(body.size, before.size)
        full = before.right - before.x1 <= _FULL_LINE * (before.right - before.left)
        if near and full and line.x0 <= before.x0 + 1 and not before.text.endswith((":", ".")):
            kinds[number] = LineKind.TEXT


def _mark_definitions(lines: Sequence[PrintedLine], kinds: list[LineKind]) -> None:
    """Mark lines with a term and, behind a gap, the start of what it means, in line with a line nearby."""
    for number, line in enumerate(lines):
        if len(line.segments) != 2 or kinds[number] is not LineKind.TEXT or _is_labelled(line):
            continue
        term, meaning = line.segments
        if len(term.text.split()) > 4 or len(_LETTERS.findall(meaning.text)) < _MEANING_WORDS:
            continue
        near = (*lines[max(number - 1, 0) : number], *lines[number + 1 : number + 2])
        edges = [other.segments[-1].x0 for other in near if len(other.segments) < 3]
        if any(abs(edge - meaning.x0) <= _ALIGNED for edge in edges):
            kinds[number] = LineKind.DEFINITION


def _is_stretched(line: PrintedLine) -> bool:
    """Return whether a line fills its column, with gaps as justification makes them."""
    gap = max(b.x0 - a.x1 for a, b in pairwise(line.segments))
    width = sum(segment.x1 - segment.x0 for segment in line.segments)
    return gap <= _STRETCHED * line.size and width >= _FILLED * (line.right - line.left)


def _aligned(line: PrintedLine, other: PrintedLine) -> bool:
    """Return whether two lines share the left edge of a cell, or the right edge or centre of a narrow one."""
    narrow = 0.4 * (line.right - line.left)
    for a in line.segments[1:]:
        for b in other.segments[1:]:
            if abs(a.x0 - b.x0) <= _ALIGNED:
                return True
            same = abs(a.x1 - b.x1) <= _ALIGNED or abs(a.x0 + a.x1 - b.x0 - b.x1) <= _ALIGNED
            if same and max(a.x1 - a.x0, b.x1 - b.x0) <= narrow:
                return True
    return False


def _mark_contents(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Mark the entries below the heading of a table of contents, up to the first lines without page numbers."""
    inside, last = False, 0
    for number, line in enumerate(lines):
        text = line.text
        if len(text) < 60 and CONTENTS_HEADING.fullmatch(text) and line.size >= 0.95 * body.size:
            inside, last = True, number
        elif inside:
            at_edge = line.right - line.x1 <= body.size
            if kinds[number] is LineKind.CONTENTS or (at_edge and _ENDS_IN_PAGE.search(text[-_TAIL:])):
                for index in range(last + 1, number + 1):
                    kinds[index] = LineKind.CONTENTS
                last = number
            else:
                inside = number - last <= (_WRAPPED if line.page == lines[last].page else 1)


def _mark_notes(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Mark the small lines at the end of each column, from the first with a mark on."""
    columns: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        columns[line.page, line.column].append(number)
    for numbers in columns.values():
        start = len(numbers)
        while start > 0 and lines[numbers[start - 1]].size <= _NOTE_SIZE * body.size:
            start -= 1
        small = numbers[start:]
        marked = [n for n in small if starts_note(lines[n]) and kinds[n] is not LineKind.CONTENTS]
        if not small or CAPTION.match(lines[small[0]].text) or len(small) > 0.6 * len(numbers):
            continue
        for number in small:
            if marked and number >= marked[0] and kinds[number] is not LineKind.CONTENTS:
                kinds[number] = LineKind.NOTE


def starts_note(line: PrintedLine) -> bool:
    """Return whether a line starts with the mark of a note."""
    return bool(line.segments[0].mark or _NOTE_START.match(line.text))
