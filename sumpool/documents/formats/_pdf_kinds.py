"""Kinds of lines in PDF files: prose, code, formulas, rows of tables, entries of contents, notes below a page."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import Final

from sumpool.documents.formats._pdf_layout import PrintedLine

_NOTE_SIZE: Final = 0.94  # largest size of notes, in sizes of the text
_MONO_SHARE: Final = 0.85
_MATH_SHARE: Final = 0.3
_ALIGNED: Final = 3.0  # points between the edges of cells in one column
_REACH: Final = 3  # lines between two rows of a table

CAPTION = re.compile(
    r"(figure|fig\.|table|tab\.|listing|algorithm|plate|scheme|abbildung|abb\.|tabelle|figura|tableau|tabla|tabela"
    r"|рисунок|рис\.|таблица|図|表|图)\s?([A-Z]\.?)?\d+([.-]\d+)*\s?[a-z]?(?P<mark>[.:|—\u2013]|\s|$)",
    re.IGNORECASE,
)
BULLET = re.compile(r"([•◦‣▪▫●○■□◆◇\u2013—\u2043∙·\u2217*►▶➢✓\uf000-\uf0ff\u2212-]|o(?=\s\s))\s*(?=\S)")
ENUMERATOR = re.compile(r"(\(?(\d{1,3}|[a-z]|[ivx]{1,4})\)|\d{1,3}\.|[a-z]\.|\[\d{1,3}\])\s+(?=\S)")
CONTENTS_HEADING = re.compile(
    r"((short|brief|table of|list of)?\s*contents|list of (figures|tables)|(\w+ )?index|inhalt(sverzeichnis)?"
    r"|table des matières|índice( general)?|содержание|оглавление|目次|目录|sommaire|indice)",
    re.IGNORECASE,
)
_LEADER = re.compile(r"([.·…]\s?){4,}\s*([\divxlc]{1,5}|[A-Z]-?\d+)?(,\s?\d+)*$", re.IGNORECASE)
_ENDS_IN_PAGE = re.compile(r"(^|\s)([A-Z]-)?(\d{1,4}|[ivxl]{1,6})([\u2013-]\d+)?(,\s?\d+([\u2013-]\d+)?)*$")
_NOTE_START = re.compile(r"([\u2217*†‡§¶]+|\d{1,2})\s*\S|\(\d\)\s")
_LETTERS = re.compile(r"[^\W\d_]{3,}")


class LineKind(Enum):
    """Kind of a line."""

    TEXT = auto()
    CODE = auto()
    FORMULA = auto()
    ROW = auto()
    CONTENTS = auto()
    NOTE = auto()


@dataclass(frozen=True)
class Body:
    """Measures of the running text of a document.

    Attributes:
        size: Font size in points.
        leading: Distance between lines, in font sizes.
        mono: Whether the running text is monospaced.
        bold: Whether the running text is bold.
        indents: Whether paragraphs start with an indentation rather than with a space above.
    """

    size: float
    leading: float
    mono: bool
    bold: bool


def measure_body(lines: Sequence[PrintedLine]) -> Body:
    """Measure the running text."""
    total = sum(len(line.text) for line in lines)
    mono = sum(len(line.text) * line.share("mono") for line in lines) > 0.6 * total
    bold = sum(len(line.text) * line.share("bold") for line in lines) > 0.6 * total
    sizes, leadings = Counter[float](), Counter[float]()
    for line in lines:
        if mono or line.share("mono") < 0.5:
            sizes[round(line.size, 1)] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    for line, following in pairwise(lines):
        if (line.page, line.column) == (following.page, following.column) and abs(line.size - size) < 0.3:
            leadings[round((following.y - line.y) / size, 1)] += 1
    usual = [(count, -leading) for leading, count in leadings.items() if 0.9 <= leading <= 3]
    return Body(size, -max(usual)[1] if usual else 1.2, mono, bold)


def classify_lines(lines: Sequence[PrintedLine], body: Body) -> list[LineKind]:
    """Return the kind of each line."""
    kinds = [_alone(line, body) for line in lines]
    _mark_rows(lines, kinds, body)
    _mark_contents(lines, kinds, body)
    _mark_notes(lines, kinds, body)
    return kinds


def _alone(line: PrintedLine, body: Body) -> LineKind:
    """Return the kind of a line as far as the line itself shows it."""
    text = line.text
    if _LEADER.search(text):
        return LineKind.CONTENTS
    if not body.mono and line.share("mono") >= _MONO_SHARE:
        return LineKind.CODE
    words = sum(map(len, _LETTERS.findall(text)))
    if (line.share("math") >= _MATH_SHARE or _is_symbolic(text)) and words < 0.4 * len(text):
        return LineKind.FORMULA
    return LineKind.TEXT


def _is_symbolic(text: str) -> bool:
    """Return whether a line holds relations and few words, as formulas do."""
    return bool(re.search(r"[=≤≥≈∈∑∫∏√∂→⇒±\u00d7∀∃⊂\u222a∩]", text)) and len(text) >= 3


def _mark_rows(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Mark lines with several cells that align with those of a line nearby."""
    several = [
        number
        for number, line in enumerate(lines)
        if len(line.segments) > 1 and kinds[number] in (LineKind.TEXT, LineKind.FORMULA) and not _is_labelled(line)
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
    first = line.segments[0].text
    return len(line.segments) == 2 and bool(
        BULLET.fullmatch(first + " x"[:0])
        or re.fullmatch(r"\W|\(?[\dA-Za-z]{1,3}[.)]|[A-Z]?\d*(\.\d+)+\.?|\[\d+\]", first)
    )


def _aligned(line: PrintedLine, other: PrintedLine) -> bool:
    return any(
        abs(a.x0 - b.x0) <= _ALIGNED or abs(a.x1 - b.x1) <= _ALIGNED or abs(a.x0 + a.x1 - b.x0 - b.x1) <= _ALIGNED
        for a in line.segments[1:]
        for b in other.segments[1:]
    )


def _mark_contents(lines: Sequence[PrintedLine], kinds: list[LineKind], body: Body) -> None:
    """Mark the entries below the heading of a table of contents, up to the first lines without page numbers."""
    inside, last = False, 0
    for number, line in enumerate(lines):
        text = line.text
        if len(text) < 60 and CONTENTS_HEADING.fullmatch(text) and line.size >= 0.95 * body.size:
            inside, last = True, number
        elif inside:
            entry = kinds[number] is LineKind.CONTENTS or bool(_ENDS_IN_PAGE.search(text))
            if entry:
                for index in range(last + 1, number + 1):
                    kinds[index] = LineKind.CONTENTS
                last = number
            elif number - last > 4:
                inside = False


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
        marked = [n for n in small if _starts_note(lines[n]) and kinds[n] is not LineKind.CONTENTS]
        if not small or CAPTION.match(lines[small[0]].text) or len(small) > 0.6 * len(numbers):
            continue
        for number in small:
            if marked and number >= marked[0] and kinds[number] is not LineKind.CONTENTS:
                kinds[number] = LineKind.NOTE


def _starts_note(line: PrintedLine) -> bool:
    return bool(line.segments[0].mark or _NOTE_START.match(line.text))


def starts_note(line: PrintedLine) -> bool:
    """Return whether a line starts with the mark of a note."""
    return _starts_note(line)
