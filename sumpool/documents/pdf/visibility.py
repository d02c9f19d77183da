"""Visibility of text in PDF files: size, render mode, layers that are off, and white text on white."""

import ctypes
from typing import Final

from pypdfium2_raw import bindings as pdfium

from sumpool.documents.pdf.fonts import Handle

_INVISIBLE = (3, 7)  # render modes without and with clipping
_TINY: Final = 2.0  # points
_WHITE: Final = 250  # of 255
_OPTIONAL_CONTENT: Final = "OC\0".encode("utf-16-le")  # name of a mark
_MAX_NAME: Final = 256  # characters of the name of a layer
_PICTURE: Final = 800  # pixels of the longer side of a page
_MAX_OBJECTS: Final = 2000  # of a page that are searched for dark areas

Box = tuple[float, float, float, float]
"""Left, bottom, right and top of an area in points."""


class PageBackground:
    """Coloured areas and images of a page, read when the first white text asks for them, and its layers."""

    def __init__(self, page: Handle, layers: dict[str, bool]) -> None:
        """Keep the page.

        Args:
            page: Page of PDFium.
            layers: Whether each layer of the document is on, as far as known; it grows.
        """
        self._page = page
        self._layers = layers
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
        layer = _layer(text_object)
        if layer and layer not in self._layers:
            self._layers[layer] = self._is_drawn(text_object)
        if layer and not self._layers[layer]:
            return False
        if not _is_pale(text_object):
            return True
        box = pdfium.FS_RECTF()
        pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
        x, y = (box.left + box.right) / 2, (box.bottom + box.top) / 2
        if self._boxes is None:
            self._boxes = _dark_boxes(self._page)
        return any(left <= x <= right and bottom <= y <= top for left, bottom, right, top in self._boxes)

    def _is_drawn(self, text_object: Handle) -> bool:
        """Return whether a picture of the page differs without an object: PDFium does not tell which layers are on."""
        whole = _render(self._page)
        pdfium.FPDFPageObj_SetIsActive(text_object, False)
        without = _render(self._page)
        pdfium.FPDFPageObj_SetIsActive(text_object, True)
        return whole != without


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
