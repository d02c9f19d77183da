"""A PDF file from its bytes to its blocks."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pypdfium2_raw import bindings as pdfium

from sumpool.documents.document import ParsedDocument
from sumpool.documents.formats.pdf import OCR_ADVICE
from sumpool.documents.pdf.blocks import compose_blocks, group_lines, is_scrambled
from sumpool.documents.pdf.headings import find_title
from sumpool.documents.pdf.kinds import classify_lines, measure_body
from sumpool.documents.pdf.layout import PrintedLine, find_gutter, order_lines
from sumpool.documents.pdf.margins import PageSegments, remove_margins
from sumpool.documents.pdf.runs import Handle, open_form, read_runs
from sumpool.documents.pdf.segments import join_runs

_TITLE_WORDS: Final = 3  # of a heading on top of the document that is its title
_COVER_WORDS: Final = 80
_LONGEST_METADATA: Final = 4096  # bytes
_STAMP: Final = 60  # characters that a scanning program, or a page number, adds to a scan
_IMAGE_AREA: Final = 0.5  # share of a page
_IMAGE_SHARE: Final = 0.1  # share of the pages; plates in a book are fewer
_MAX_OBJECTS: Final = 4096


def read_pdf(content: bytes, password: str = "") -> ParsedDocument:
    """Read a PDF file; not safe for threads.

    Args:
        content: Content of the file.
        password: Password; empty if it has none.

    Raises:
        ValueError: If the file is damaged, needs another password or has no legible text.
    """
    with _open(content, password) as document:
        lines, notes = _read_lines(document)
        metadata = _metadata(document, b"Title")
        attached = pdfium.FPDFDoc_GetAttachmentCount(document)
    body = measure_body(lines)
    groups = group_lines(lines, classify_lines(lines, body), body)
    title = find_title(lines, body, metadata)
    blocks = tuple(compose_blocks(groups, lines, title))
    if attached > 0 and _is_cover(" ".join(block.text for block in blocks)):
        raise ValueError(
            f"must have its text on its pages, got a portfolio of {attached} files behind a cover; save them one by one"
        )
    if is_scrambled(" ".join(block.text for block in blocks)):
        raise ValueError(f"must have text in letters, got fonts that do not say which letters they show; {OCR_ADVICE}")
    if attached > 0:
        notes.append(f"{attached} attached file{'s' if attached > 1 else ''} left out")
    if not title and blocks and blocks[0].kind == "heading" and len(blocks[0].text.split()) >= _TITLE_WORDS:
        title = blocks[0].text
    return ParsedDocument(blocks, title, tuple(notes))


def _is_cover(text: str) -> bool:
    """Return whether a text is that of the page which asks to open a portfolio in another program, in any language."""
    return len(text.split()) <= _COVER_WORDS and ("Acrobat" in text or "Adobe Reader" in text)


@contextmanager
def _open(content: bytes, password: str) -> Iterator[Handle]:
    """Open a document of PDFium."""
    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(content, len(content), password.encode() or None)
    if not document:
        raise ValueError(_open_error(pdfium.FPDF_GetLastError(), content, password))
    try:
        yield document
    finally:
        pdfium.FPDF_CloseDocument(document)


def _open_error(code: int, content: bytes, password: str) -> str:
    if code == pdfium.FPDF_ERR_PASSWORD and password:
        return "must be a PDF file with the password of --password, got one with another"
    if code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
        return "must be open to everyone, got an encrypted PDF file; give its password by --password"
    if b"%PDF-" not in content[:1024]:
        start = f"a file that starts with {content[:8]!r}" if content else "an empty file"
        return f"must be a PDF file, got {start}"
    return f"must be a complete PDF file, got {len(content):,} bytes that PDFium cannot open; get the file again"


def _read_lines(document: Handle) -> tuple[list[PrintedLine], list[str]]:
    """Return the lines of all pages in reading order, and notes on what is not among them."""
    count = pdfium.FPDF_GetPageCount(document)
    pages = []
    layers: dict[str, bool] = {}
    with open_form(document) as form:
        for number in range(1, count + 1):
            height, runs = read_runs(document, number, form, layers)
            pages.append(PageSegments(number, height, join_runs(runs)))
    pages, removed = remove_margins(pages)
    images = {page.number for page in pages if _is_image(document, page)}
    if not any(page.segments and page.number not in images for page in pages):
        raise ValueError(
            f"must have a text layer, got {count} {'page' if count == 1 else 'pages'} of images; {OCR_ADVICE}"
        )
    notes = [f"{removed} page headers, footers, page numbers and line numbers removed"] if removed else []
    if len(images) >= _IMAGE_SHARE * count:
        notes.append(f"{len(images)} of {count} pages are images without text; {OCR_ADVICE}")
    gutters = dict.fromkeys(gutter for page in pages if (gutter := find_gutter(page.segments)) is not None)
    return [line for page in pages for line in order_lines(page.segments, page.number, tuple(gutters))], notes


def _is_image(document: Handle, page: PageSegments) -> bool:
    """Return whether a page is a scan: most of it is images, beside no more text than a stamp."""
    if sum(len(segment.text) for segment in page.segments) > _STAMP:
        return False
    drawn = pdfium.FPDF_LoadPage(document, page.number - 1)
    if not drawn:
        return False
    area, edges = 0.0, tuple(ctypes.c_float() for _ in range(4))
    for index in range(min(pdfium.FPDFPage_CountObjects(drawn), _MAX_OBJECTS)):
        part = pdfium.FPDFPage_GetObject(drawn, index)
        is_image = pdfium.FPDFPageObj_GetType(part) == pdfium.FPDF_PAGEOBJ_IMAGE
        if is_image and pdfium.FPDFPageObj_GetBounds(part, *edges):
            left, bottom, right, top = (edge.value for edge in edges)
            area += (right - left) * (top - bottom)
    size = pdfium.FPDF_GetPageWidthF(drawn) * pdfium.FPDF_GetPageHeightF(drawn)
    pdfium.FPDF_ClosePage(drawn)
    return bool(area > _IMAGE_AREA * size)


def _metadata(document: Handle, name: bytes) -> str:
    """Return an entry of the document's information, such as its title."""
    length = pdfium.FPDF_GetMetaText(document, name, None, 0)
    if not 2 < length < _LONGEST_METADATA:
        return ""
    buffer = ctypes.create_string_buffer(length)
    pdfium.FPDF_GetMetaText(document, name, buffer, length)
    return buffer.raw[: length - 2].decode("utf-16-le", "ignore")
