"""Characters on the pages of a PDF file: accents that stand apart from their letters, and gaps between characters."""

import ctypes
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from pypdfium2_raw import bindings as pdfium

from sumpool.documents.pdf.fonts import Handle

COMBINING: Final = dict(
    zip(
        "\u00b4`\u02c6^\u02dc~\u00a8\u02c7\u02da\u02d8\u02d9\u02dd\u00af\u00b8",
        "\u0301\u0300\u0302\u0302\u0303\u0303\u0308\u030c\u030a\u0306\u0307\u030b\u0304\u0327",
        strict=True,
    )
)
"""Combining character of each accent."""

_ACCENTS = re.compile(f"[{re.escape(''.join(COMBINING))}]")
_NOTHING: Final = "\x00"
_DOTLESS = {"\u0131": "i", "\u0237": "j"}
_REACH: Final = 3  # characters between an accent and its letter in the order of drawing
_MAX_ACCENTS: Final = 5000  # on a page

_WIDE_GAP: Final = 0.9  # font sizes
_SPACE: Final = 0.15  # font sizes
_SHORT: Final = 8  # characters of a word that may hide a gap
_LETTER_SPACED: Final = 5  # characters with a space behind each that are a letter-spaced word
_WORD_GAP: Final = 1.5  # gap between letter-spaced words, in gaps between their letters

_SPACES = re.compile(r"[ \u00a0\t]+")
_POINTER = ctypes.c_void_p
_box_at = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_int, _POINTER)(
    ctypes.cast(pdfium.FPDFText_GetLooseCharBox, _POINTER).value or 0
)  # with plain integers for pointers, calls take a third of the time

DIRECTIONS: Final = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}
"""Cosine and sine of each direction of text in degrees."""


def turn(box: Handle, direction: int) -> tuple[float, float, float, float]:
    """Return left, right, top and bottom of a box in a page turned so that its text is upright."""
    cosine, sine = DIRECTIONS[direction]
    along = (box.left * cosine + box.bottom * sine, box.right * cosine + box.top * sine)
    down = (box.left * sine - box.bottom * cosine, box.right * sine - box.top * cosine)
    return min(along), max(along), min(down), max(down)


class CharacterEdges:
    """Left and right edges of the characters of a page, along the direction of the text."""

    def __init__(self, text_page: Handle, direction: int) -> None:
        """Keep the page."""
        self._handle = ctypes.cast(text_page, _POINTER).value
        self._box = pdfium.FS_RECTF()
        self._address = ctypes.addressof(self._box)
        self._direction = direction

    def __getitem__(self, index: int) -> tuple[float, float]:
        """Return the left and right edge of a character."""
        _box_at(self._handle, index, self._address)
        if self._direction == 0:
            return self._box.left, self._box.right
        return turn(self._box, self._direction)[:2]


def split_words(
    text: str, start: int, end: int, edges: CharacterEdges, size: float
) -> Iterator[tuple[str, float, float]]:
    """Yield the parts of a text between wide gaps, with their left and right edges.

    Args:
        text: Text of the page.
        start: First character, no space.
        end: End of the text, behind a character that is no space.
        edges: Edges of the characters.
        size: Font size in points.
    """
    if _is_letter_spaced(text[start:end]):
        yield _join_letters(text, start, end, edges)
        return
    left = edges[start][0]
    for first, behind in _gaps(text, start, end, edges, size):
        right, following = edges[first - 1][1], edges[behind][0]
        if following - right > (_WIDE_GAP if first < behind else _SPACE) * size or following < left:
            yield text[start:first], left, right
            start, left = behind, following
    yield text[start:end], left, edges[end - 1][1]


def _gaps(text: str, start: int, end: int, edges: CharacterEdges, size: float) -> list[tuple[int, int]]:
    """Return where a text may have gaps: its spaces, or in short words between all characters.

    PDFium takes a single gap between two characters for letter spacing and writes no space.
    """
    gaps = [gap.span() for gap in _SPACES.finditer(text, start, end)]
    if gaps or not 2 <= end - start <= _SHORT:
        return gaps
    steps = [edges[index][0] - edges[index - 1][1] for index in range(start + 1, end)]
    if len(steps) > 2 and min(steps) > _SPACE * size:
        return []
    return [(start + number, start + number) for number, step in enumerate(steps, 1) if step > _SPACE * size]


def _is_letter_spaced(text: str) -> bool:
    letters = text[::2]
    return len(letters) >= _LETTER_SPACED and text[1::2].isspace() and letters.isalpha()


def _join_letters(text: str, start: int, end: int, edges: CharacterEdges) -> tuple[str, float, float]:
    """Return a letter-spaced text, with spaces only at the gaps that are wider than most."""
    boxes = [edges[index] for index in range(start, end, 2)]
    steps = [following[0] - box[1] for box, following in pairwise(boxes)]
    usual = sorted(steps)[len(steps) // 2]
    joined = text[start]
    for step, letter in zip(steps, text[start + 2 : end : 2], strict=True):
        joined += f" {letter}" if step > _WORD_GAP * usual else letter
    return joined, boxes[0][0], boxes[-1][1]


def compose_accents(text_page: Handle, text: str) -> str:
    """Return the text of a page with the accents on its letters; a null character takes the place of the accent.

    Args:
        text_page: Text of the page.
        text: Characters of the page.
    """
    characters = list(text)
    for match in list(_ACCENTS.finditer(text))[:_MAX_ACCENTS]:
        index = match.start()
        letter = _letter_under(text_page, text, index)
        if letter < 0:
            continue
        base = _DOTLESS.get(text[letter], text[letter])
        composed = unicodedata.normalize("NFC", base + COMBINING[text[index]])
        if len(composed) == 1:
            characters[letter], characters[index] = composed, _NOTHING
            _close_gaps(text_page, characters, index)
    return "".join(characters)


def _box(text_page: Handle, index: int) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of a character."""
    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
    return box.left, box.right, box.bottom, box.top


def _letter_under(text_page: Handle, text: str, index: int) -> int:
    """Return the letter above or below which an accent stands, -1 if it stands alone."""
    left, right, bottom, top = _box(text_page, index)
    middle = (left + right) / 2
    near = [index + step for distance in range(1, _REACH + 1) for step in (distance, -distance)]
    near.append(pdfium.FPDFText_GetCharIndexAtPos(text_page, middle, bottom + 0.4 * (top - bottom), 1.0, 1.0))
    for letter in near:
        if 0 <= letter < len(text) and text[letter].isalpha():
            x0, x1, y0, y1 = _box(text_page, letter)
            if x0 < middle < x1 and bottom < (y0 + y1) / 2 < top:
                return letter
    return -1


def _close_gaps(text_page: Handle, characters: list[str], index: int) -> None:
    """Remove the spaces beside an accent between letters that adjoin."""
    for space in (index - 1, index + 1):
        if not 0 < space < len(characters) - 1 or not characters[space].isspace():
            continue
        before, behind = (space - 1, space + 1)
        if before == index:
            before -= 1
        if behind == index:
            behind += 1
        if before < 0 or behind >= len(characters):
            continue
        _, right, bottom, top = _box(text_page, before)
        if _box(text_page, behind)[0] - right <= _SPACE * (top - bottom):
            characters[space] = _NOTHING
