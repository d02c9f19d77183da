"""Running text of PDF files: its size, spacing and style."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sumpool.documents.pdf.layout import PrintedLine

_TYPED: Final = 0.9  # share of monospaced characters in a typed document
_BOLD: Final = 0.6  # share of bold characters in a document in bold
_MIN_SIZE: Final = 0.1  # points; a file may set text in a font of size 0


@dataclass(frozen=True)
class Body:
    """Measures of the running text of a document.

    Attributes:
        size: Font size in points.
        leading: Distance between lines, in font sizes.
        mono: Whether the running text is monospaced.
        bold: Whether the running text is bold.
    """

    size: float
    leading: float
    mono: bool
    bold: bool


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
    return Body(size, -max(usual)[1] if usual else 1.2, mono, bold)
