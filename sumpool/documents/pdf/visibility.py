"""Visibility of text in PDF files: size, render mode, and white text without anything dark behind it."""

import ctypes
from typing import Final

from pypdfium2_raw import bindings as pdfium

from sumpool.documents.pdf.fonts import Handle

_INVISIBLE = (3, 7)  # render modes without and with clipping
_TINY: Final = 2.0  # points
_WHITE: Final = 250  # of 255
_MAX_OBJECTS: Final = 2000  # of a page that are searched for dark areas

Box = tuple[float, float, float, float]
"""Left, bottom, right and top of an area in points."""


class PageBackground:
    """Coloured areas and images of a page, read when the first white text asks for them."""

    def __init__(self, page: Handle) -> None:
        """Keep the page."""
        self._page = page
        self._boxes: list[Box] | None = None

    def shows(self, text_object: Handle, text_page: Handle, index: int, size: float) -> bool:
        """Return whether text can be seen.

        Args:
            text_object: Object that draws the text.
            text_page: Text of the page.
            index: First character of the text.
            size: Font size in points.
        """
        if size < _TINY or pdfium.FPDFTextObj_GetTextRenderMode(text_object) in _INVISIBLE:
            return False
        if not _is_pale(text_object):
            return True
        box = pdfium.FS_RECTF()
        pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
        x, y = (box.left + box.right) / 2, (box.bottom + box.top) / 2
        if self._boxes is None:
            self._boxes = _dark_boxes(self._page)
        return any(left <= x <= right and bottom <= y <= top for left, bottom, right, top in self._boxes)


def _is_pale(drawn: Handle) -> bool:
    """Return whether an object is filled with white or with nothing."""
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFPageObj_GetFillColor(drawn, red, green, blue, alpha):
        return False
    return alpha.value == 0 or min(red.value, green.value, blue.value) >= _WHITE


def _dark_boxes(page: Handle) -> list[Box]:
    boxes = []
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        area = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(area) == pdfium.FPDF_PAGEOBJ_TEXT or _is_pale(area):
            continue
        edges = tuple(ctypes.c_float() for _ in range(4))
        if pdfium.FPDFPageObj_GetBounds(area, *edges):
            boxes.append((edges[0].value, edges[1].value, edges[2].value, edges[3].value))
    return boxes
