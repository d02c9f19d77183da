"""Runs of text on the pages of a PDF file: what one text operator draws, with its place and font."""

import ctypes
import math
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from pypdfium2_raw import bindings as pdfium

from sumpool.documents.pdf.characters import DIRECTIONS, CharacterEdges, compose_accents, split_words, turn
from sumpool.documents.pdf.fonts import Font, Handle, read_font
from sumpool.documents.pdf.forms import load_page
from sumpool.documents.pdf.visibility import PageBackground

MAX_PAGE_CHARACTERS: Final = 200_000
"""Characters of a page that are read; text beyond them is dropped."""

_OCR_SHARE: Final = 0.2  # share of visible characters below which the invisible ones are the recognised text of a scan
_SKEW: Final = 5  # degrees


_POINTER = ctypes.c_void_p
_object_at = ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.c_int)(
    ctypes.cast(pdfium.FPDFText_GetTextObject, _POINTER).value or 0
)  # with plain integers for pointers, calls take a third of the time


class Run(NamedTuple):
    """Characters that one operator draws, without wide gaps.

    Attributes:
        text: Characters.
        x0: Left edge in points from the left edge of the page.
        x1: Right edge in points.
        y: Baseline in points from the top of the page.
        size: Font size in points.
        font: Font.
        spaced: Whether PDFium sees a space before the run.
    """

    text: str
    x0: float
    x1: float
    y: float
    size: float
    font: Font
    spaced: bool = False


class _Span(NamedTuple):
    """Characters of one text object: their range, how they are drawn and their direction in degrees."""

    start: int
    end: int
    font: Font
    size: float
    direction: int
    visible: bool


def read_runs(document: Handle, number: int, form: Handle | None, layers: dict[str, bool]) -> tuple[float, list[Run]]:
    """Return the height of a page and its runs that stand in its principal direction and are visible.

    The height in points is that of the page as its text stands; the runs are in the order in which they are drawn.

    Args:
        document: Document of PDFium.
        number: Number of the page, from 1.
        form: Form of the document; None if it has none.
        layers: Whether each layer of the document is on, as far as known; it grows.
    """
    page = load_page(document, form, number - 1)
    if not page:
        return 0.0, []
    text_page = pdfium.FPDFText_LoadPage(page)
    try:
        return _read_page(page, text_page, layers) if text_page else (0.0, [])
    finally:
        pdfium.FPDFText_ClosePage(text_page)
        pdfium.FPDF_ClosePage(page)


def _read_page(page: Handle, text_page: Handle, layers: dict[str, bool]) -> tuple[float, list[Run]]:
    text = _characters(text_page)
    spans = list(_spans(text_page, text, PageBackground(page, layers)))
    lengths = Counter[int]()
    for span in spans:
        lengths[span.direction] += span.end - span.start
    lengths.pop(-1, None)
    direction = max(lengths, key=lambda angle: (lengths[angle], -angle), default=0)
    spans = [span for span in spans if span.direction == direction]
    shown = sum(span.end - span.start for span in spans if span.visible)
    recognised = shown < _OCR_SHARE * lengths[direction]
    box = pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, box)
    x0, x1, y0, y1 = turn(box, direction)
    runs: list[Run] = []
    for span in spans:
        if span.visible or recognised:
            runs += _runs(text_page, text, span, (x0, y0))
    width, height = x1 - x0, y1 - y0
    return height, [run for run in runs if run.x1 > 0 and run.x0 < width and 0 < run.y < height + run.size]


def _characters(text_page: Handle) -> str:
    """Return the text of a page in units of UTF-16, one per character of PDFium."""
    count = min(pdfium.FPDFText_CountChars(text_page), MAX_PAGE_CHARACTERS)
    if count <= 0:
        return ""
    buffer = (ctypes.c_uint16 * (count + 1))()
    units = pdfium.FPDFText_GetText(text_page, 0, count, buffer)
    if units != count + 1:
        buffer[:count] = [pdfium.FPDFText_GetUnicode(text_page, index) & 0xFFFF for index in range(count)]
    return compose_accents(text_page, "".join(map(chr, buffer[:count])))


def _join_surrogates(text: str) -> str:
    """Join pairs of units of UTF-16 to characters."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _spans(text_page: Handle, text: str, background: PageBackground) -> Iterator[_Span]:
    """Yield the ranges of characters that belong to one text object; spaces between objects belong to none."""
    handle = ctypes.cast(text_page, _POINTER).value
    fonts: dict[int, Font] = {}
    matrix = pdfium.FS_MATRIX()
    start, count = 0, len(text)
    while start < count:
        drawn = _object_at(handle, start)
        end = _end_of_object(handle, drawn, start, count)
        if drawn and text[start:end].strip(" \r\n\x00"):
            text_object = ctypes.cast(drawn, pdfium.FPDF_PAGEOBJECT)
            pointer = ctypes.cast(pdfium.FPDFTextObj_GetFont(text_object), _POINTER).value or 0
            if pointer not in fonts:
                fonts[pointer] = read_font(text_object)
            pdfium.FPDFText_GetMatrix(text_page, start, matrix)
            size = pdfium.FPDFText_GetFontSize(text_page, start) * math.hypot(matrix.c, matrix.d)
            visible = background.shows(text_object, text_page, start, size)
            yield _Span(start, end, fonts[pointer], size, _direction(matrix), visible)
        start = end


def _end_of_object(handle: int | None, drawn: int | None, start: int, count: int) -> int:
    """Return the index behind the last character of an object, by doubling steps and bisection."""
    if not drawn:  # white space between two objects
        return start + 1
    low, step = start, 1
    while low + step < count and _object_at(handle, low + step) == drawn:
        low, step = low + step, step * 2
    high = min(low + step, count)
    while high - low > 1:
        middle = (low + high) // 2
        if _object_at(handle, middle) == drawn:
            low = middle
        else:
            high = middle
    return high


def _direction(matrix: Handle) -> int:
    """Return the direction of text in degrees, -1 if it is skewed."""
    angle = math.degrees(math.atan2(matrix.b, matrix.a)) % 360
    nearest = round(angle / 90) * 90
    return nearest % 360 if abs(angle - nearest) <= _SKEW else -1


def _runs(text_page: Handle, text: str, span: _Span, corner: tuple[float, float]) -> Iterator[Run]:
    """Yield the parts of a span between wide gaps."""
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, span.start, x, y)
    cosine, sine = DIRECTIONS[span.direction]
    baseline = x.value * sine - y.value * cosine - corner[1]
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    end = span.start + len(part.rstrip())
    spaced = start > 0 and text[start - 1].isspace()
    edges = CharacterEdges(text_page, span.direction)
    for words, left, right in split_words(text, start, end, edges, span.size):
        words = _join_surrogates(words)
        yield Run(words, left - corner[0], right - corner[0], baseline, span.size, span.font, spaced)
        spaced = True
