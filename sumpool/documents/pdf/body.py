"""Running text of PDF files: its size, spacing and style."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from sumpool.documents.pdf.layout import PrintedLine

_TYPED: Final = 0.9  # share of monospaced characters in a typed document
_BOLD: Final = 0.6  # share of bold characters in a document in bold
_BLANK: Final = 1.28  # distance between paragraphs, in distances between lines
_LOOSE: Final = 1.1  # the same on pages that are set wider than the others
_RUNNING: Final = 6  # lines of a page that others continue, in a size in which it has running text
_WIDEST: Final = 4.0  # distance between the lines of a text, in font sizes
_FULL: Final = 0.8  # width of such a line, in widths of its column
_MIN_SIZE: Final = 0.1  # points; a file may set text in a font of size 0


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
