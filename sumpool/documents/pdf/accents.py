"""Accents of PDF files that are drawn as characters of their own above or below a letter, as older TeX does."""

import re
import unicodedata
from typing import Final

from pypdfium2_raw import bindings as pdfium

from sumpool.documents.pdf.fonts import Handle

_COMBINING: Final = {
    "\u00b4": "\u0301",
    "`": "\u0300",
    "\u02c6": "\u0302",
    "^": "\u0302",
    "\u02dc": "\u0303",
    "~": "\u0303",
    "\u00a8": "\u0308",
    "\u02c7": "\u030c",
    "\u02da": "\u030a",
    "\u02d8": "\u0306",
    "\u02d9": "\u0307",
    "\u02dd": "\u030b",
    "\u00af": "\u0304",
    "\u00b8": "\u0327",
}
"""Combining character of each accent."""

_ACCENTS = re.compile(f"[{re.escape(''.join(_COMBINING))}]")
_NOTHING: Final = "\x00"
_DOTLESS = {"\u0131": "i", "\u0237": "j"}
_REACH: Final = 3  # characters between an accent and its letter in the order of drawing
_SPACE: Final = 0.15  # font sizes
_MAX_ACCENTS: Final = 5000  # on a page


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
        composed = unicodedata.normalize("NFC", base + _COMBINING[text[index]])
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
