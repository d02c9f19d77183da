"""Reading order on the pages of a PDF file: columns, and the lines in them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sumpool.documents.pdf.segments import Segment

_EDGES: Final = 24  # most frequent left edges that may be those of a right column
_MIN_LINES: Final = 3  # of a column
_FEW_LINES: Final = 5  # below which the lines of a column must be fuller and longer
_FULL: Final = 0.75  # width of a full line, in widths of its column
_FULL_SHARE: Final = 0.4  # of full lines in a column of prose
_FLUSH_SHARE: Final = 0.3  # of lines with the same left edge in a column of prose
_MIN_CHARACTERS: Final = 14  # of a line of prose in a column, on average
_LEVEL: Final = 0.3  # largest distance between the baselines of one line, in font sizes
_FRONT_GAP: Final = 1.6  # between the authors and the columns, in font sizes
_SAME: Final = 3.0  # points


@dataclass(slots=True)
class PrintedLine:
    """Line of a column.

    Attributes:
        segments: Parts of the line from left to right, with wide gaps between them.
        page: Number of the page, from 1.
        column: Number of the column on the page, from 0; parts of the page that are interrupted differ in it.
        left: Left edge of the column in points.
        right: Right edge of the column in points.
    """

    segments: list[Segment]
    page: int
    column: int
    left: float
    right: float

    @property
    def text(self) -> str:
        """Text with a space at wide gaps."""
        return " ".join(segment.text for segment in self.segments)

    @property
    def x0(self) -> float:
        """Left edge in points."""
        return self.segments[0].x0

    @property
    def x1(self) -> float:
        """Right edge in points."""
        return self.segments[-1].x1

    @property
    def y(self) -> float:
        """Baseline in points, downwards."""
        return max(self.segments, key=lambda segment: len(segment.text)).y

    @property
    def size(self) -> float:
        """Font size of the longest part in points."""
        return max(self.segments, key=lambda segment: len(segment.text)).size

    def share(self, style: str) -> float:
        """Return the share of characters in a style: "bold", "italic", "mono" or "math"."""
        lengths = [max(len(segment.text), 1) for segment in self.segments]
        shares = (getattr(segment, style) * length for segment, length in zip(self.segments, lengths, strict=True))
        return float(sum(shares)) / sum(lengths)


def order_lines(segments: Sequence[Segment], page: int, gutters: Sequence[float] = ()) -> list[PrintedLine]:
    """Return the lines of a page in reading order.

    Args:
        segments: Segments of the page.
        page: Number of the page, from 1.
        gutters: Left edges of right columns that other pages have; on these, short columns count as columns too.
    """
    front, main = _split_front(list(segments), gutters) if page == 1 else ([], list(segments))
    columns = [*([front] if front else []), *_columns(main, gutters)]
    return [line for column, group in enumerate(columns) for line in _rows(group, page, column)]


def _split_front(segments: list[Segment], gutters: Sequence[float]) -> tuple[list[Segment], list[Segment]]:
    """Split title and authors from the columns below them, at a gap across the page."""
    gutter = find_gutter(segments) or _known_gutter(segments, gutters)
    if gutter is None:
        return [], segments
    ordered = sorted(segments, key=lambda segment: segment.y)
    front = 0
    for number, (segment, following) in enumerate(pairwise(ordered), 1):
        if following.y - segment.y < _FRONT_GAP * following.size:
            continue
        above = ordered[:number]
        sides = [[item for item in above if _side(item, gutter) == side] for side in (-1, 1)]
        if any(_is_prose(side) for side in sides):
            break
        if all(sides):
            front = number
    return ordered[:front], ordered[front:]


def find_gutter(segments: Sequence[Segment]) -> float | None:
    """Return the left edge of the right column of a page; None if the page has one column."""
    edges = Counter(round(segment.x0 / _SAME) for segment in segments)
    best, best_lines = None, 0
    for edge, count in edges.most_common(_EDGES):
        if count + edges[edge + 1] < _MIN_LINES:
            continue
        gutter = min(s.x0 for s in segments if round(s.x0 / _SAME) == edge)
        lines = sum(
            len(left) + len(right)
            for left, right in _bands(segments, gutter)
            if _is_prose(left) and _is_prose(right) and _overlap(left, right)
        )
        if lines > best_lines:
            best, best_lines = gutter, lines
    return best


def _columns(segments: list[Segment], gutters: Sequence[float]) -> list[list[Segment]]:
    """Split segments into columns in reading order."""
    gutter = find_gutter(segments)
    known = gutter is None
    if gutter is None:
        gutter = _known_gutter(segments, gutters)
    if gutter is None:
        return [segments] if segments else []
    columns: list[list[Segment]] = []
    wide: list[Segment] = []
    for left, right in _bands(segments, gutter):
        if not right and len(left) == 1 and _side(left[0], gutter) == 0:
            wide += left
            continue
        both = (_is_prose(left) and _is_prose(right)) or known or gutter in gutters
        if left and right and not both:
            wide += left + right
            continue
        if wide:
            columns.append(wide)
            wide = []
        columns += [*_columns(left, ()), *_columns(right, ())] if left and right else [left or right]
    return [*columns, wide] if wide else columns


def _known_gutter(segments: Sequence[Segment], gutters: Sequence[float]) -> float | None:
    """Return the gutter of other pages at which most segments of this page start; None if there is none."""
    hits = {edge: sum(abs(segment.x0 - edge) <= _SAME for segment in segments) for edge in gutters}
    best = max(hits, key=lambda edge: hits[edge], default=None)
    return best if best is not None and hits[best] else None


def _side(segment: Segment, gutter: float) -> int:
    """Return -1 for a segment left of the gutter, 1 for one right of it, 0 for one across it."""
    if segment.x0 >= gutter - _SAME:
        return 1
    return -1 if segment.x1 - gutter <= 0.08 * (segment.x1 - segment.x0) else 0


def _bands(segments: Iterable[Segment], gutter: float) -> list[tuple[list[Segment], list[Segment]]]:
    """Return the parts of a page between segments across the gutter; such a segment is a part of its own."""
    bands: list[tuple[list[Segment], list[Segment]]] = [([], [])]
    for segment in sorted(segments, key=lambda item: (item.y, item.x0)):
        side = _side(segment, gutter)
        if side == 0:
            bands += [([segment], []), ([], [])]
        else:
            bands[-1][side == 1].append(segment)
    return [band for band in bands if band[0] or band[1]]


def _is_prose(segments: Sequence[Segment]) -> bool:
    """Return whether most lines of a column fill it."""
    if len(segments) < _MIN_LINES:
        return False
    widths = sorted(segment.x1 - segment.x0 for segment in segments)
    width = widths[int(0.9 * (len(widths) - 1))]
    full = sum(value >= _FULL * width for value in widths) / len(widths)
    edges = Counter(round(segment.x0 / _SAME) for segment in segments)
    if max(edges.values()) < _FLUSH_SHARE * len(segments):  # centred lines
        return False
    characters = sum(len(s.text) for s in segments) / len(segments)
    if len(segments) < _FEW_LINES:
        return full >= 1.5 * _FULL_SHARE and characters >= 2 * _MIN_CHARACTERS
    return full >= _FULL_SHARE and characters >= _MIN_CHARACTERS


def _overlap(left: Sequence[Segment], right: Sequence[Segment]) -> bool:
    return left[0].y <= right[-1].y and right[0].y <= left[-1].y


def _rows(segments: Sequence[Segment], page: int, column: int) -> list[PrintedLine]:
    """Group the segments of a column by baseline."""
    rows: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda item: item.y):
        if rows and segment.y - rows[-1][0].y <= _LEVEL * min(segment.size, rows[-1][0].size):
            rows[-1].append(segment)
        else:
            rows.append([segment])
    left = min(segment.x0 for segment in segments)
    right = max(segment.x1 for segment in segments)
    return [PrintedLine(sorted(row, key=lambda item: item.x0), page, column, left, right) for row in rows]
