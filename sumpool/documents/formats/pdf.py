"""PDF files, read by PDFium (pypdfium2): reading order, paragraphs and headings from the places and fonts of the text.

Hyphens at line ends are joined; running headers, page numbers, line numbers, rotated and hidden text are left out. A
page's notes come behind its text.
"""

from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from sumpool.documents.document import ParsedDocument, ReadOptions
from sumpool.documents.formats import missing_library
from sumpool.documents.pdf.ocr import OCR_ADVICE, recognise_text
from sumpool.documents.pdf.streams import check_streams

MAX_PAGES: Final = 5000
"""Pages that a file may have."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a PDF file.

    Raises:
        ValueError: If the file is damaged, encrypted, too large, unpacks to too much, is without text, or takes more
            time or memory than suits its size.
        DataError: If pypdfium2 is not installed, or ocrmypdf is not and `options.ocr` asks for it.
    """
    if len(content) > options.max_bytes:
        raise ValueError(f"must have at most {options.max_bytes:,} bytes, got {len(content):,}; split it")
    check_streams(content, options.limits)
    if find_spec("pypdfium2_raw") is None:
        raise missing_library("pypdfium2", "PDF")
    from sumpool.documents.pdf.document import read_pdf  # which imports it

    try:
        return read_pdf(content, MAX_PAGES, options.password)
    except ValueError as error:
        if not options.ocr or not str(error).endswith(OCR_ADVICE):
            raise
    parsed = read_pdf(recognise_text(content, options.ocr), MAX_PAGES, options.password)
    return replace(parsed, notes=(*parsed.notes, "text of a scan, recognised by ocrmypdf"))
