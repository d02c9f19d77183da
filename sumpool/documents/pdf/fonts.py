"""Fonts of PDF files: weight, slant and kind from the descriptor and the name."""

import ctypes
import re
from typing import Any, Final, NamedTuple, TypeAlias

from pypdfium2_raw import bindings as pdfium

Handle: TypeAlias = Any
"""Pointer or structure of PDFium; its bindings have no types."""

_FIXED_PITCH, _ITALIC_FLAG, _FORCE_BOLD = 1, 1 << 6, 1 << 18  # flags of a font descriptor
_BOLD_WEIGHT: Final = 600
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_BOLD = re.compile(
    r"bold|black|heavy|semib|demi|(cm|ec|sf|la|lm)(ss)?bx|(ec|sf|la)sx|medi\b|-b(i|it)?$|^[a-z]+b(i|it)?\d?t?$",
    re.IGNORECASE,
)
_NOT_BOLD = re.compile(r"^(msb|euf|cmsyb|stmary)", re.IGNORECASE)
_OPAQUE = re.compile(r"(cidfont)?\W*[a-z]{0,2}\d*", re.IGNORECASE)  # names that say nothing about the weight
_ITALIC = re.compile(r"italic|oblique|slant|(cm|ec|sf)(bx)?(ti|sl|it)|-(b?it?)$", re.IGNORECASE)
_MONO = re.compile(
    r"mono|courier|typewriter|consol|menlo|fixed|(cm|ec|sf|la|tx|rtx|t1)(sl|it|vs|b)?tt|sourcecode|-tt\d*$",
    re.IGNORECASE,
)
_MATH = re.compile(
    r"^(cmmi|cmsy|cmex|cmbsy|cmbmi|msam|msbm|eu[fsrx]|rsfs|lasy|wasy|stmary|[rn]?tx(sy|mi|ex)|px(sy|mi|ex)"
    r"|mtmi|mtsy|mtex|symbol|esint|zplm|fourier-math|.*math)",
    re.IGNORECASE,
)


class Font(NamedTuple):
    """Font of a run.

    Attributes:
        name: PostScript name without the prefix of a subset.
        bold: Whether the font is bold.
        italic: Whether the font is italic or slanted.
        mono: Whether all characters have the same width.
        math: Whether the font holds mathematical symbols.
    """

    name: str
    bold: bool = False
    italic: bool = False
    mono: bool = False
    math: bool = False


def read_font(text_object: Handle) -> Font:
    """Read the font of a text object of PDFium."""
    font = pdfium.FPDFTextObj_GetFont(text_object)
    if not font:
        return Font("")
    buffer = ctypes.create_string_buffer(256)
    length = pdfium.FPDFFont_GetBaseFontName(font, buffer, 256)
    name = _SUBSET.sub("", buffer.raw[: max(min(length, 256) - 1, 0)].decode("latin-1"))
    flags, weight = pdfium.FPDFFont_GetFlags(font), pdfium.FPDFFont_GetWeight(font)
    return classify_font(name, max(flags, 0), weight)


def classify_font(name: str, flags: int = 0, weight: int = 0) -> Font:
    """Classify a font by its PostScript name, the flags of its descriptor and its weight (400 is regular)."""
    math = bool(_MATH.search(name))
    bold = not _NOT_BOLD.search(name) and bool(
        flags & _FORCE_BOLD or (weight >= _BOLD_WEIGHT and _OPAQUE.fullmatch(name)) or _BOLD.search(name)
    )
    mono = not math and bool(flags & _FIXED_PITCH or _MONO.search(name))
    return Font(name, bold, bool(flags & _ITALIC_FLAG or _ITALIC.search(name)), mono, math)
