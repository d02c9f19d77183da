"""PDF files, read by PDFium (pypdfium2): reading order, paragraphs and headings from the places and fonts of the text.

Hyphens at line ends are joined; running headers, page numbers, line numbers, rotated and hidden text are left out. A
page's notes come behind its text.
"""

import ctypes
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from typing import Final

from pypdfium2_raw import bindings as pdfium

from sumpool.documents.document import ParsedDocument, ReadOptions
from sumpool.documents.pdf.blocks import (
    classify_lines,
    compose_blocks,
    find_title,
    group_lines,
    is_scrambled,
    measure_body,
)
from sumpool.documents.pdf.lines import PageSegments, PrintedLine, find_gutter, join_runs, order_lines, remove_margins
from sumpool.documents.pdf.runs import Handle, open_form, read_runs
from sumpool.documents.worker import lift_limits
from sumpool.errors import DataError

_TITLE_WORDS: Final = 3  # of a heading on top of the document that is its title
_COVER_WORDS: Final = 80
_LONGEST_METADATA: Final = 4096  # bytes
_STAMP: Final = 60  # characters that a scanning program, or a page number, adds to a scan
_IMAGE_AREA: Final = 0.5  # share of a page
_IMAGE_SHARE: Final = 0.1  # share of the pages; plates in a book are fewer
_MAX_OBJECTS: Final = 4096


def _read_pdf(content: bytes, password: str = "") -> ParsedDocument:
    """Read a PDF file; not safe for threads.

    Args:
        content: Content of the file.
        password: Password; empty if it has none.
    """
    with _open(content, password) as document:
        lines, notes = _read_lines(document)
        metadata, length = "", pdfium.FPDF_GetMetaText(document, b"Title", None, 0)
        if 2 < length < _LONGEST_METADATA:
            buffer = ctypes.create_string_buffer(length)
            pdfium.FPDF_GetMetaText(document, b"Title", buffer, length)
            metadata = buffer.raw[: length - 2].decode("utf-16-le", "ignore")
        attached = pdfium.FPDFDoc_GetAttachmentCount(document)
    body = measure_body(lines)
    groups = group_lines(lines, classify_lines(lines, body), body)
    title = find_title(lines, body, metadata)
    blocks = tuple(compose_blocks(groups, lines, title))
    text = " ".join(block.text for block in blocks)
    # That of the page which asks to open a portfolio in another program, in any language.
    is_cover = len(text.split()) <= _COVER_WORDS and ("Acrobat" in text or "Adobe Reader" in text)
    if attached > 0 and is_cover:
        raise ValueError(
            f"must have its text on its pages, got a portfolio of {attached} files behind a cover; save them one by one"
        )
    if is_scrambled(text):
        raise ValueError(f"must have text in letters, got fonts that do not say which letters they show; {OCR_ADVICE}")
    if attached > 0:
        notes.append(f"{attached} attached file{'s' if attached > 1 else ''} left out")
    if not title and blocks and blocks[0].kind == "heading" and len(blocks[0].text.split()) >= _TITLE_WORDS:
        title = blocks[0].text
    return ParsedDocument(blocks, title, tuple(notes))


@contextmanager
def _open(content: bytes, password: str) -> Iterator[Handle]:
    """Open a document of PDFium."""
    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(content, len(content), password.encode() or None)
    if not document:
        code = pdfium.FPDF_GetLastError()
        if code == pdfium.FPDF_ERR_PASSWORD and password:
            raise ValueError("must be a PDF file with the password of --password, got one with another")
        if code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise ValueError("must be open to everyone, got an encrypted PDF file; give its password by --password")
        if b"%PDF-" not in content[:1024]:
            start = f"a file that starts with {content[:8]!r}" if content else "an empty file"
            raise ValueError(f"must be a PDF file, got {start}")
        raise ValueError(
            f"must be a complete PDF file, got {len(content):,} bytes that PDFium cannot open; get the file again"
        )
    try:
        yield document
    finally:
        pdfium.FPDF_CloseDocument(document)


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
    return [line for page in pages for line in order_lines(page, tuple(gutters))], notes


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


OCR_ADVICE: Final = "run it through OCR first, which --ocr LANGUAGE does by ocrmypdf"
"""What to do about a file without text, as errors end."""
_LANGUAGES: Final = re.compile(r"[A-Za-z][\w/-]*(?:\+[A-Za-z][\w/-]*)*")
_SECONDS: Final = 3600
"""Time that the program may take; a page takes a few seconds."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a PDF file.

    Raises:
        ValueError: If the file is damaged, encrypted or without text.
        DataError: If `options.ocr` asks for ocrmypdf, which is not installed.
    """
    try:
        parsed, method = _read_pdf(content, options.password), "--redo-ocr"
        if not options.ocr or not any(note.endswith(OCR_ADVICE) for note in parsed.notes):
            return parsed
    except ValueError as error:
        if not options.ocr or not str(error).endswith(OCR_ADVICE):
            raise
        method = "--force-ocr"  # whatever text there is
    from pypdfium2 import PdfDocument  # as few files are recognised

    # ocrmypdf refuses encryption.
    copy = BytesIO()
    with PdfDocument(content, password=options.password or None) as document:
        document.save(copy, flags=pdfium.FPDF_REMOVE_SECURITY)
    parsed = _read_pdf(recognise_text(copy.getvalue(), options.ocr, method))
    notes = (note for note in parsed.notes if not note.endswith(OCR_ADVICE))  # on pages without text, such as plates
    return replace(parsed, notes=(*notes, "text of a scan, recognised by ocrmypdf"))


def ocr_program() -> str:
    """Return the path of ocrmypdf.

    Raises:
        DataError: If it is not installed.
    """
    program = shutil.which("ocrmypdf")
    if program is None:
        raise DataError("--ocr needs the program ocrmypdf, which is not installed: apt install ocrmypdf")
    return program


def recognise_text(content: bytes, languages: str, method: str) -> bytes:
    """Return a PDF file with the text of its pictures.

    Args:
        content: PDF file.
        languages: Languages of Tesseract, joined by "+".
        method: Option of the program for pages that have text: "--force-ocr" replaces it, "--redo-ocr" keeps what is
            printed.

    Raises:
        ValueError: If the program fails; the message lacks the subject.
        DataError: If it is not installed.
    """
    if not _LANGUAGES.fullmatch(languages):
        raise DataError(f"--ocr must be languages of Tesseract such as eng or deu+fra, got {languages!r}")
    command = [ocr_program(), "--quiet", method, "--output-type", "pdf", "--language", languages, "-", "-"]
    try:
        lift = None if sys.platform == "win32" else lift_limits
        result = subprocess.run(
            command, input=content, capture_output=True, timeout=_SECONDS, check=False, preexec_fn=lift
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"must be recognised within {_SECONDS:,} s, but ocrmypdf took longer; split it") from error
    if result.returncode or not result.stdout:
        lines = result.stderr.decode("utf-8", "replace").strip().split("\n")
        raise ValueError(f"must be a file that ocrmypdf can read, got its error: {lines[-1][:200]}")
    return result.stdout
