"""Runs of text on the pages of a PDF file: what one text operator draws, with its position and font.

Text that nobody sees is left out: by size, render mode, layers that are off, and white text on white. Accents that
stand apart from their letters are put on them, and gaps between characters are spaces. PDFium draws fields of forms and
typed notes into their pages (flattening). Weight, slant and kind of a font come from its descriptor and its name.
"""

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
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

_TEXT: Final = (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_XFA: Final = (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND)
_HIDDEN: Final = 2
_INVISIBLE = (3, 7)  # render modes without and with clipping
_TINY: Final = 2.0  # points
_WHITE: Final = 250  # of 255
_OPTIONAL_CONTENT: Final = "OC\0".encode("utf-16-le")  # name of a mark
_MAX_NAME: Final = 256  # characters of the name of a layer
_PICTURE: Final = 800  # pixels of the longer side of a page
_MAX_OBJECTS: Final = 2000  # of a page that are searched for dark areas

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

WIDE_GAP: Final = 0.9
"""Widest gap between two words of a run or a segment, in font sizes."""
_SPACE: Final = 0.15  # font sizes
_SHORT: Final = 8  # characters of a word that may hide a gap
_LETTER_SPACED: Final = 5  # characters with a space behind each that are a letter-spaced word
_WORD_GAP: Final = 1.5  # gap between letter-spaced words, in gaps between their letters

_SPACES = re.compile(r"[ \u00a0\t]+")
_LIGATURE = re.compile(r"(?<=[^\W\d_])[\x0b\x0c\x1c-\x1f]|[\x0b\x0c\x1c-\x1f](?=[^\W\d_])")
"""Code of a ligature beside a letter, in a font of TeX without Unicode values; Python takes it for white space."""
_POINTER, _INT = ctypes.c_void_p, ctypes.c_int


def _plain(function: Handle, result: type[Any], *arguments: type[Any]) -> Handle:
    """Return a function of PDFium with plain integers for pointers, by which calls take a third of the time."""
    return ctypes.CFUNCTYPE(result, *arguments)(ctypes.cast(function, _POINTER).value or 0)


_box_at = _plain(pdfium.FPDFText_GetLooseCharBox, _INT, _POINTER, _INT, _POINTER)
_object_at = _plain(pdfium.FPDFText_GetTextObject, _POINTER, _POINTER, _INT)
_matrix_at = _plain(pdfium.FPDFText_GetMatrix, _INT, _POINTER, _INT, _POINTER)
_size_at = _plain(pdfium.FPDFText_GetFontSize, ctypes.c_double, _POINTER, _INT)
_origin_at = _plain(pdfium.FPDFText_GetCharOrigin, _INT, _POINTER, _INT, _POINTER, _POINTER)
_font_of = _plain(pdfium.FPDFTextObj_GetFont, _POINTER, _POINTER)
_mode_of = _plain(pdfium.FPDFTextObj_GetTextRenderMode, _INT, _POINTER)
_marks_of = _plain(pdfium.FPDFPageObj_CountMarks, _INT, _POINTER)
_fill_of = _plain(pdfium.FPDFPageObj_GetFillColor, _INT, _POINTER, *[_POINTER] * 4)
_colour = (ctypes.c_uint * 4)()
_COLOUR: Final = [ctypes.addressof(_colour) + index * ctypes.sizeof(ctypes.c_uint) for index in range(4)]
"""Addresses of red, green, blue and alpha."""

_DIRECTIONS: Final = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}
"""Cosine and sine of each direction of text in degrees."""

_OCR_SHARE: Final = 0.2  # share of visible characters below which the invisible ones are the recognised text of a scan
_SKEW: Final = 5  # degrees


class Font(NamedTuple):
    """Font of a run.

    Attributes:
        bold: Whether the font is bold.
        italic: Whether the font is italic or slanted.
        mono: Whether all characters have the same width.
        math: Whether the font holds mathematical symbols.
    """

    bold: bool = False
    italic: bool = False
    mono: bool = False
    math: bool = False


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


def read_runs(document: Handle, number: int, form: Handle | None, layers: dict[str, bool]) -> tuple[float, list[Run]]:
    """Return the height of a page and its runs that stand in its principal direction and are visible.

    The height in points is that of the page as its text stands; the runs are in the order in which they are drawn.

    Args:
        document: Document of PDFium.
        number: Number of the page, from 1.
        form: Form of the document; None if it has none.
        layers: Whether each layer of the document is on, as far as known; it grows.
    """
    page = _load_page(document, form, number - 1)
    if not page:
        return 0.0, []
    text_page = pdfium.FPDFText_LoadPage(page)
    try:
        return _read_page(page, text_page, layers) if text_page else (0.0, [])
    finally:
        pdfium.FPDFText_ClosePage(text_page)
        pdfium.FPDF_ClosePage(page)


def _load_page(document: Handle, form: Handle | None, number: int) -> Handle:
    """Load a page, numbered from 0, with the text of its fields and typed notes; null if it is damaged."""
    page = pdfium.FPDF_LoadPage(document, number)
    if not page or pdfium.FPDFPage_GetAnnotCount(page) < 1:
        return page
    if form:
        pdfium.FORM_OnAfterLoadPage(page, form)  # draws fields that no program has drawn
    is_filled = False
    for index in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        is_field = kind == pdfium.FPDF_ANNOT_WIDGET and form is not None
        if kind == pdfium.FPDF_ANNOT_FREETEXT or (
            is_field and pdfium.FPDFAnnot_GetFormFieldType(form, annotation) in _TEXT
        ):
            is_filled = True
        else:  # is not drawn
            pdfium.FPDFAnnot_SetFlags(annotation, pdfium.FPDFAnnot_GetFlags(annotation) | _HIDDEN)
        pdfium.FPDFPage_CloseAnnot(annotation)
    if is_filled:
        pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
    if form:
        pdfium.FORM_OnBeforeClosePage(page, form)
    if not is_filled:
        return page
    pdfium.FPDF_ClosePage(page)
    return pdfium.FPDF_LoadPage(document, number)


def _read_page(page: Handle, text_page: Handle, layers: dict[str, bool]) -> tuple[float, list[Run]]:
    count = max(pdfium.FPDFText_CountChars(text_page), 0)
    buffer = (ctypes.c_uint16 * (count + 1))()  # units of UTF-16, one per character of PDFium
    if count and pdfium.FPDFText_GetText(text_page, 0, count, buffer) != count + 1:
        buffer[:count] = [pdfium.FPDFText_GetUnicode(text_page, index) & 0xFFFF for index in range(count)]
    text = _compose_accents(text_page, "".join(map(chr, buffer[:count])))
    spans = list(_spans(page, text_page, text, layers))
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
    x0, x1, y0, y1 = _turn(box, direction)
    cosine, sine = _DIRECTIONS[direction]
    handle, address = ctypes.cast(text_page, _POINTER).value, ctypes.addressof(box)

    def edges(index: int) -> tuple[float, float]:
        """Return the left and right edges of a character, along the direction of the text."""
        _box_at(handle, index, address)
        return (box.left, box.right) if direction == 0 else _turn(box, direction)[:2]

    origin = (ctypes.c_double * 2)()
    across, down = ctypes.addressof(origin), ctypes.addressof(origin) + ctypes.sizeof(ctypes.c_double)
    runs: list[Run] = []
    for span in spans:
        if not span.visible and not recognised:
            continue
        _origin_at(handle, span.start, across, down)
        baseline = origin[0] * sine - origin[1] * cosine - y0
        part = _LIGATURE.sub("f", text[span.start : span.end])
        start = span.start + len(part) - len(part.lstrip())
        end = span.start + len(part.rstrip())
        spaced = start > 0 and text[start - 1].isspace()
        for words, left, right in _split_words(text, start, end, edges, span.size):
            if not words.isascii():  # whose pairs of units of UTF-16 are joined
                words = words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            runs.append(Run(words, left - x0, right - x0, baseline, span.size, span.font, spaced))
            spaced = True
    width, height = x1 - x0, y1 - y0
    return height, [run for run in runs if run.x1 > 0 and run.x0 < width and 0 < run.y < height + run.size]


def _compose_accents(text_page: Handle, text: str) -> str:
    """Return the text of a page with the accents on its letters; a null character takes the place of the accent."""
    characters = list(text)
    for match in _ACCENTS.finditer(text):
        index = match.start()
        letter = _letter_under(text_page, text, index)
        if letter < 0:
            continue
        base = _DOTLESS.get(text[letter], text[letter])
        composed = unicodedata.normalize("NFC", base + COMBINING[text[index]])
        if len(composed) == 1:
            characters[letter], characters[index] = composed, _NOTHING
    return "".join(characters)


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


def _box(text_page: Handle, index: int) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of a character."""
    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
    return box.left, box.right, box.bottom, box.top


class _Span(NamedTuple):
    """Characters of one text object: their range, how they are drawn and their direction in degrees."""

    start: int
    end: int
    font: Font
    size: float
    direction: int
    visible: bool


def _spans(page: Handle, text_page: Handle, text: str, layers: dict[str, bool]) -> Iterator[_Span]:
    """Yield the ranges of characters that belong to one text object; spaces between objects belong to none."""
    areas = cache(lambda: _coloured_areas(page))  # when the first white text asks for them
    handle = ctypes.cast(text_page, _POINTER).value
    fonts: dict[int, Font] = {}
    matrix = pdfium.FS_MATRIX()
    address = ctypes.addressof(matrix)
    start, count = 0, len(text)
    while start < count:
        drawn = _object_at(handle, start)
        end = _end_of_object(handle, drawn, start, count)
        if drawn and text[start:end].strip(" \r\n\x00"):
            pointer = _font_of(drawn) or 0
            if pointer not in fonts:
                font = ctypes.cast(pointer, pdfium.FPDF_FONT)
                buffer = ctypes.create_string_buffer(256)
                length = pdfium.FPDFFont_GetBaseFontName(font, buffer, 256)
                name = _SUBSET.sub("", buffer.raw[: max(min(length, 256) - 1, 0)].decode("latin-1"))
                flags, weight = pdfium.FPDFFont_GetFlags(font), pdfium.FPDFFont_GetWeight(font)
                fonts[pointer] = classify_font(name, max(flags, 0), weight)
            _matrix_at(handle, start, address)
            size = _size_at(handle, start) * math.hypot(matrix.c, matrix.d)
            visible = size >= _TINY and _mode_of(drawn) not in _INVISIBLE
            if visible and _marks_of(drawn) > 0:
                visible = _is_layer_on(page, ctypes.cast(drawn, pdfium.FPDF_PAGEOBJECT), layers)
            if visible and _is_pale(drawn):
                left, right, bottom, top = _box(text_page, start)
                x, y = (left + right) / 2, (bottom + top) / 2
                visible = any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in areas())
            yield _Span(start, end, fonts[pointer], size, _direction(matrix), visible)
        start = end


def _is_layer_on(page: Handle, text_object: Handle, layers: dict[str, bool]) -> bool:
    """Return whether the layer of an object is on, if it belongs to one."""
    layer = _layer(text_object)
    if layer and layer not in layers:
        # PDFium does not tell which layers are on: a picture of the page differs without an object of one.
        whole = _render(page)
        pdfium.FPDFPageObj_SetIsActive(text_object, False)
        layers[layer] = _render(page) != whole
        pdfium.FPDFPageObj_SetIsActive(text_object, True)
    return not layer or layers[layer]


def _coloured_areas(page: Handle) -> list[tuple[float, ...]]:
    """Return left, bottom, right and top of the coloured areas and images of a page."""
    areas = []
    for number in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        area = pdfium.FPDFPage_GetObject(page, number)
        edges = tuple(ctypes.c_float() for _ in range(4))
        is_area = pdfium.FPDFPageObj_GetType(area) != pdfium.FPDF_PAGEOBJ_TEXT and not _is_pale(area)
        if is_area and pdfium.FPDFPageObj_GetBounds(area, *edges):
            areas.append(tuple(edge.value for edge in edges))
    return areas


def _layer(drawn: Handle) -> str:
    """Return the name of the optional content to which an object belongs; empty if there is none."""
    for index in range(pdfium.FPDFPageObj_CountMarks(drawn)):
        mark = pdfium.FPDFPageObj_GetMark(drawn, index)
        buffer, length = (ctypes.c_ushort * _MAX_NAME)(), ctypes.c_ulong()
        size = ctypes.sizeof(buffer)
        pdfium.FPDFPageObjMark_GetName(mark, buffer, size, length)
        if bytes(buffer)[: length.value] != _OPTIONAL_CONTENT:
            continue
        if pdfium.FPDFPageObjMark_GetParamStringValue(mark, b"Name", buffer, size, length):
            return bytes(buffer)[: length.value].decode("utf-16-le", "replace")
    return ""


def _render(page: Handle) -> bytes:
    """Return a small picture of a page."""
    width, height = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
    scale = _PICTURE / max(width, height, 1)
    across, down = max(int(width * scale), 1), max(int(height * scale), 1)
    bitmap = pdfium.FPDFBitmap_Create(across, down, 0)
    pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, across, down, 0xFFFFFFFF)
    pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, across, down, 0, 0)
    content = ctypes.string_at(pdfium.FPDFBitmap_GetBuffer(bitmap), pdfium.FPDFBitmap_GetStride(bitmap) * down)
    pdfium.FPDFBitmap_Destroy(bitmap)
    return content


def _is_pale(drawn: Handle) -> bool:
    """Return whether an object is filled with white or with nothing."""
    if not _fill_of(drawn, *_COLOUR):
        return False
    red, green, blue, alpha = _colour
    return alpha == 0 or min(red, green, blue) >= _WHITE


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


def classify_font(name: str, flags: int = 0, weight: int = 0) -> Font:
    """Classify a font by its PostScript name, the flags of its descriptor and its weight (400 is regular)."""
    is_math = bool(_MATH.search(name))
    bold = not _NOT_BOLD.search(name) and bool(
        flags & _FORCE_BOLD or (weight >= _BOLD_WEIGHT and _OPAQUE.fullmatch(name)) or _BOLD.search(name)
    )
    mono = not is_math and bool(flags & _FIXED_PITCH or _MONO.search(name))
    return Font(bold, bool(flags & _ITALIC_FLAG or _ITALIC.search(name)), mono, is_math)


def _direction(matrix: Handle) -> int:
    """Return the direction of text in degrees, -1 if it is skewed."""
    angle = math.degrees(math.atan2(matrix.b, matrix.a)) % 360
    nearest = round(angle / 90) * 90
    return nearest % 360 if abs(angle - nearest) <= _SKEW else -1


def _turn(box: Handle, direction: int) -> tuple[float, float, float, float]:
    """Return left, right, top and bottom of a box in a page turned so that its text is upright."""
    cosine, sine = _DIRECTIONS[direction]
    along = (box.left * cosine + box.bottom * sine, box.right * cosine + box.top * sine)
    down = (box.left * sine - box.bottom * cosine, box.right * sine - box.top * cosine)
    return min(along), max(along), min(down), max(down)


def _split_words(
    text: str, start: int, end: int, edges: Callable[[int], tuple[float, float]], size: float
) -> Iterator[tuple[str, float, float]]:
    """Yield the parts of a text between wide gaps, with their left and right edges.

    Args:
        text: Text of the page.
        start: First character, no space.
        end: End of the text, behind a character that is no space.
        edges: Function that returns the left and right edges of a character.
        size: Font size in points.
    """
    letters, spaces = text[start:end:2], text[start + 1 : end : 2]
    if len(letters) >= _LETTER_SPACED and spaces.isspace() and letters.isalpha():
        # A letter-spaced text has spaces only at the gaps that are wider than most.
        boxes = [edges(index) for index in range(start, end, 2)]
        steps = [following[0] - box[1] for box, following in pairwise(boxes)]
        usual = sorted(steps)[len(steps) // 2]
        joined = text[start]
        for step, letter in zip(steps, letters[1:], strict=True):
            joined += f" {letter}" if step > _WORD_GAP * usual else letter
        yield joined, boxes[0][0], boxes[-1][1]
        return
    left = edges(start)[0]
    gaps = [gap.span() for gap in _SPACES.finditer(text, start, end)]
    if not gaps and 2 <= end - start <= _SHORT:
        # PDFium takes a single gap between two characters for letter spacing and writes no space.
        steps = [following[0] - box[1] for box, following in pairwise(map(edges, range(start, end)))]
        if len(steps) < 3 or min(steps) <= _SPACE * size:
            gaps = [(start + n, start + n) for n, step in enumerate(steps, 1) if step > _SPACE * size]
    for first, behind in gaps:
        right, following = edges(first - 1)[1], edges(behind)[0]
        if following - right > (WIDE_GAP if first < behind else _SPACE) * size or following < left:
            yield text[start:first], left, right
            start, left = behind, following
    yield text[start:end], left, edges(end - 1)[1]


@contextmanager
def open_form(document: Handle) -> Iterator[Handle | None]:
    """Open the form of a document; None if it has none.

    Raises:
        ValueError: If the form is one whose pages only ask the reader to wait; the message lacks the subject.
    """
    kind = pdfium.FPDF_GetFormType(document)
    if kind == pdfium.FORMTYPE_NONE:
        yield None
        return
    has_fields = kind not in _XFA
    for number in range(0 if has_fields else pdfium.FPDF_GetPageCount(document)):
        page = pdfium.FPDF_LoadPage(document, number)
        if not page:
            continue
        annotations = [pdfium.FPDFPage_GetAnnot(page, index) for index in range(pdfium.FPDFPage_GetAnnotCount(page))]
        has_fields |= any(pdfium.FPDFAnnot_GetSubtype(part) == pdfium.FPDF_ANNOT_WIDGET for part in annotations)
        for annotation in annotations:
            pdfium.FPDFPage_CloseAnnot(annotation)
        pdfium.FPDF_ClosePage(page)
    if not has_fields:
        raise ValueError("must have its text on its pages, got an XFA form; print it to a new PDF file first")
    callbacks = pdfium.FPDF_FORMFILLINFO(version=2)  # must live as long as the form
    form = pdfium.FPDFDOC_InitFormFillEnvironment(document, callbacks)
    try:
        yield form or None
    finally:
        if form:
            pdfium.FPDFDOC_ExitFormFillEnvironment(form)
