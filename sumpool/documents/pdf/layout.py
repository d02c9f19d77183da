"""Reading order on the pages of a PDF file: columns, and the lines in them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
        text: Text with a space at wide gaps.
        x0: Left edge in points.
        x1: Right edge in points.
        y: Baseline of the longest part in points, downwards.
        size: Font size of the longest part in points.
    """

    segments: list[Segment]
    page: int
    column: int
    left: float
    right: float
    text: str = field(init=False)
    x0: float = field(init=False)
    x1: float = field(init=False)
    y: float = field(init=False)
    size: float = field(init=False)

    def __post_init__(self) -> None:
        """Measure the line."""
        self.text = " ".join(segment.text for segment in self.segments)
        self.x0, self.x1 = self.segments[0].x0, self.segments[-1].x1
        longest = max(self.segments, key=lambda segment: len(segment.text))
        self.y, self.size = longest.y, longest.size

    def share(self, style: str) -> float:
        """Return the share of characters in a style: "bold", "italic", "mono" or "math"."""
        if len(self.segments) == 1:  # as most lines are
            return float(getattr(self.segments[0], style))
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
    columns = [*_columns(front, ()), *_columns(main, gutters)]
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
        across, left, right = ([item for item in above if _side(item, gutter) == side] for side in (0, -1, 1))
        if _is_prose(left) or _is_prose(right) or (len(across) >= _FEW_LINES and _is_prose(across)):
            break
        if left and right and across:
            front = number
    return ordered[:front], ordered[front:]


def find_gutter(segments: Sequence[Segment], margins: bool = False) -> float | None:
    """Return the left edge of the right column of a page; None if the page has one column.

    Args:
        segments: Segments of the page.
        margins: Whether lines in a margin beside the text are a column too.
    """
    edges = Counter(round(segment.x0 / _SAME) for segment in segments)
    best, best_lines = None, 0
    for edge, count in edges.most_common(_EDGES):
        if count + edges[edge + 1] < _MIN_LINES:
            continue
        gutter = min(s.x0 for s in segments if round(s.x0 / _SAME) == edge)
        lines = sum(
            len(left) + len(right) for left, right in _bands(segments, gutter) if _are_columns(left, right, margins)
        )
        if lines > best_lines:
            best, best_lines = gutter, lines
    return best


def _columns(segments: list[Segment], gutters: Sequence[float]) -> list[list[Segment]]:
    """Split segments into columns in reading order."""
    gutter = find_gutter(segments)
    if gutter is None:
        gutter = _known_gutter(segments, gutters)
    margins = gutter is None
    if gutter is None:
        gutter = find_gutter(segments, margins=True)
    if gutter is None:
        return [segments] if segments else []
    columns: list[list[Segment]] = []
    wide: list[list[Segment]] = []
    for left, right in _bands(segments, gutter):
        if left and right and (gutter in gutters or _are_columns(left, right, margins)):
            columns += [*_split_wide(wide), *_columns(left, ()), *_columns(right, ())]
            wide = []
        elif wide and ((left and right) or _side((left or right)[0], gutter) == _side(wide[-1][-1], gutter) == 0):
            wide[-1] += left + right
        else:
            wide.append(left + right)
    return [*columns, *_split_wide(wide)]


def _split_wide(parts: list[list[Segment]]) -> list[list[Segment]]:
    """Return the columns of what stands across a gutter or on one side of it, such as an abstract beside a margin."""
    whole = [segment for part in parts for segment in part]
    return parts if len(parts) < 2 or find_gutter(whole, margins=True) is None else _columns(whole, ())


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


def _are_columns(left: Sequence[Segment], right: Sequence[Segment], margins: bool) -> bool:
    """Return whether two sides of a gutter are texts of their own: prose, or prose and lines in a margin beside it."""
    if not left or not right or not _overlap(left, right):
        return False
    prose = _is_prose(left), _is_prose(right)
    if all(prose) or not any(prose) or not margins:
        return all(prose)
    edge = min(segment.x0 for segment in right)
    flush = [len(segment.text) for segment in right if segment.x0 - edge <= _SAME]
    if len(flush) < _FLUSH_SHARE * len(right) or sum(flush) < _MIN_CHARACTERS * len(flush):
        return False
    return _is_beside(*((left, right) if prose[1] else (right, left)))


def _is_beside(margin: Sequence[Segment], text: Sequence[Segment]) -> bool:
    """Return whether most lines of a margin stand beside a text, and not on its lines as the cells of a table do."""
    near = [line for line in margin if text[0].y <= line.y <= text[-1].y]
    if len(near) < _MIN_LINES or 2 * sum(len(line.text) for line in near) < _MIN_CHARACTERS * len(near):
        return False
    level = sum(any(abs(line.y - other.y) <= _LEVEL * line.size / 2 for other in text) for line in near)
    return level < len(near) / 2


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
