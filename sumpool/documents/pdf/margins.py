"""Removal of running headers, footers, page numbers and line numbers from the pages of a PDF file."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Final

from sumpool.documents.pdf.segments import Segment

_DEPTH: Final = 3  # rows at each end of a page that may be headers or footers
_NEAR: Final = 3.0  # points between the heights at which one header stands on two pages
_BAND_SHARE: Final = 0.5  # of the pages that have a header at one height, so that every row there is one
_LABEL_GAP: Final = 3.0  # between the number of a heading and its text, in font sizes
_MIXED: Final = "text"  # in the keys of numbers beside words
_MANY: Final = 4  # pages on which a number beside words grows with the pages
_APART: Final = 1.35  # smallest distance between a header and the text, in font sizes
_MIN_LINE_NUMBERS: Final = 5
_LARGE: Final = 1.5  # largest size of a header, in sizes of the text
_MAX_LENGTH: Final = 150  # characters of a header

_NUMBER = re.compile(r"\d+")
_EDGE_NUMBER = re.compile(r"^\W*([0-9]{1,4})\b|\b([0-9]{1,4})\W*$")
_PAGE_NUMBER = re.compile(r"\W*(page |seite |p\. ?)?(\d{1,4}|[ivxlc]{1,7})( ?(of|/|von) ?\d{1,4})?\W*", re.IGNORECASE)


@dataclass(frozen=True)
class PageSegments:
    """Segments of a page.

    Attributes:
        number: Number of the page, from 1.
        height: Height of the page in points.
        segments: Segments in the order in which they are drawn.
    """

    number: int
    height: float
    segments: list[Segment]


@dataclass(frozen=True)
class _EndRow:
    """Segments on one baseline at an end of a page.

    Attributes:
        segments: Segments of the row.
        distance: Distance from the end of the page in points.
        gap: Distance to the next row towards the middle, in font sizes.
    """

    segments: list[Segment]
    distance: float
    gap: float


def remove_margins(pages: Sequence[PageSegments]) -> tuple[list[PageSegments], int]:
    """Return the pages without headers, footers, page numbers and line numbers, and how many lines were removed."""
    columns = {edge for page in pages for edge in _line_number_columns(page.segments)}
    numbers = {id(segment) for page in pages for segment in page.segments if _is_in_column(segment, columns)}
    pages = _without(pages, numbers)
    sizes = Counter[float]()
    for page in pages:
        for segment in page.segments:
            sizes[segment.size] += len(segment.text)
    largest = _LARGE * max(sizes, key=lambda size: (sizes[size], size), default=0.0)
    removed = _repeated_rows(pages, True, largest) | _repeated_rows(pages, False, largest)
    kept = _without(pages, removed)
    if not any(page.segments for page in kept):  # the same line on every page is their text
        return pages, 0
    return kept, len(removed) + len(numbers)


def _repeated_rows(pages: Sequence[PageSegments], top: bool, largest: float) -> set[int]:
    """Return the ids of the segments in headers (or footers) of all pages, in fonts up to a size."""
    ends = [(page.number, list(_small_rows(_end_rows(page, top), largest))) for page in pages]
    positions: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for number, rows in ends:
        for row in rows:
            for key in _keys(row, number):
                positions[key].append((row.distance, number))
    removed: set[int] = set()
    heights = Counter[int]()
    rest: list[tuple[_EndRow, ...]] = []
    for number, rows in ends:
        depth = _header_depth(rows, number, positions)
        for row in rows[:depth]:
            removed |= {id(segment) for segment in row.segments}
            heights[round(row.distance / _NEAR)] += 1
        rest.append(tuple(rows[depth:]))
    for rows_left in rest:
        for row in rows_left[:1]:
            height = round(row.distance / _NEAR)
            on_band = sum(heights[height + step] for step in (-1, 0, 1))
            if on_band >= max(_BAND_SHARE * len(pages), 3) and row.gap >= _APART and len(_row_text(row)) <= _MAX_LENGTH:
                removed |= {id(segment) for segment in row.segments}
    return removed


def _small_rows(rows: Sequence[_EndRow], largest: float) -> Iterator[_EndRow]:
    """Yield the rows outside the first one in a large font, which is a heading."""
    for row in rows:
        if max(segment.size for segment in row.segments) > largest and not _is_page_number(row):
            return
        yield row


def _header_depth(rows: Sequence[_EndRow], page: int, positions: dict[str, list[tuple[float, int]]]) -> int:
    """Return how many of the outermost rows are headers, the last of them apart from the text."""
    depth = 0
    for row in rows:
        if not _is_repeated(row, page, positions) and not (depth == 0 and _is_page_number(row)):
            break
        depth += 1
    while depth and rows[depth - 1].gap < _APART:
        depth -= 1
    return depth


def _end_rows(page: PageSegments, top: bool) -> list[_EndRow]:
    """Return the outermost rows of a page, from its end towards the middle."""
    rows: list[list[Segment]] = []
    for segment in sorted(page.segments, key=lambda item: item.y if top else -item.y):
        if rows and abs(segment.y - rows[-1][0].y) <= 0.3 * segment.size:
            rows[-1].append(segment)
        elif len(rows) <= _DEPTH:
            rows.append([segment])
        else:
            break
    ends = []
    for row, following in zip_longest(rows, rows[1:]):
        gap = abs(following[0].y - row[0].y) / max(row[0].size, 1) if following else math.inf
        ends.append(_EndRow(row, row[0].y if top else page.height - row[0].y, gap))
    return ends[:_DEPTH]


def _row_text(row: _EndRow) -> str:
    return " ".join(segment.text for segment in sorted(row.segments, key=lambda item: item.x0))


def _keys(row: _EndRow, page: int) -> Iterator[str]:
    """Yield what headers have in common on several pages: their words, or a number that grows with the pages."""
    for segment in row.segments:
        if len(segment.text) > _MAX_LENGTH:
            continue
        words = _NUMBER.sub("#", segment.text.lower())
        if any(character.isalpha() for character in words):
            yield words
        match = _EDGE_NUMBER.search(segment.text)
        if match:
            near = any(0 <= other.x0 - segment.x1 < _LABEL_GAP * segment.size for other in row.segments)
            prefix = _MIXED if near or match[0] != segment.text else ""
            yield f"{prefix}#{int(match[1] or match[2]) - page}"


def _is_repeated(row: _EndRow, page: int, positions: dict[str, list[tuple[float, int]]]) -> bool:
    for key in _keys(row, page):
        others = {number for distance, number in positions[key] if abs(distance - row.distance) <= _NEAR}
        if len(others) >= (_MANY if key.startswith(_MIXED) else 2):
            return True
    return False


def _is_page_number(row: _EndRow) -> bool:
    text = _row_text(row)
    return row.gap >= _APART and bool(_PAGE_NUMBER.fullmatch(text)) and any(c.isalnum() for c in text)


def _line_number_columns(segments: Sequence[Segment]) -> Iterator[int]:
    """Yield the right edges of the columns of numbers beside the text that count its lines, in steps of 4 points."""
    columns: dict[int, list[Segment]] = defaultdict(list)
    for segment in segments:
        if _is_number(segment):
            columns[round(segment.x1 / 4)].append(segment)
    for edge, numbers in columns.items():
        if len(numbers) < _MIN_LINE_NUMBERS:
            continue
        numbers.sort(key=lambda item: item.y)
        steps = Counter(int(b.text) - int(a.text) for a, b in pairwise(numbers))
        step, count = steps.most_common(1)[0]
        x0, x1 = min(s.x0 for s in numbers), max(s.x1 for s in numbers)
        crossing = sum(s.x0 < x1 and s.x1 > x0 for s in segments) - len(numbers)
        if 1 <= step <= 10 and count >= 0.8 * (len(numbers) - 1) and crossing <= 0.1 * len(segments):
            yield edge


def _is_in_column(segment: Segment, columns: set[int]) -> bool:
    """Return whether a segment is a number in a column of line numbers."""
    return _is_number(segment) and round(segment.x1 / 4) in columns


def _without(pages: Sequence[PageSegments], removed: set[int]) -> list[PageSegments]:
    """Return the pages without the segments of these ids."""
    return [
        PageSegments(page.number, page.height, [segment for segment in page.segments if id(segment) not in removed])
        for page in pages
    ]


def _is_number(segment: Segment) -> bool:
    return segment.text.isascii() and segment.text.isdecimal() and len(segment.text) <= 4
