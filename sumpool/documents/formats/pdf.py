"""PDF files, read by PDFium (pypdfium2): reading order, paragraphs and headings from the places and fonts of the text.

Hyphens at line ends are joined; running headers, page numbers, line numbers, rotated and hidden text are left out. A
page's notes come behind its text.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from io import BytesIO
from typing import Final

from sumpool.documents.document import ParsedDocument, ReadOptions
from sumpool.documents.formats import missing_library
from sumpool.documents.worker import lift_limits
from sumpool.errors import DataError

OCR_ADVICE: Final = "run it through OCR first, which --ocr LANGUAGE does by ocrmypdf"
"""What to do about a file without text, as errors end."""
_LANGUAGES: Final = re.compile(r"[A-Za-z][\w/-]*(?:\+[A-Za-z][\w/-]*)*")
_SECONDS: Final = 3600
"""Time that the program may take; a page takes a few seconds."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a PDF file.

    Raises:
        ValueError: If the file is damaged, encrypted or without text.
        DataError: If pypdfium2 is not installed, or ocrmypdf is not and `options.ocr` asks for it.
    """
    if find_spec("pypdfium2_raw") is None:
        raise missing_library("pypdfium2", "PDF")
    from sumpool.documents.pdf.document import read_pdf  # which imports it

    try:
        parsed, method = read_pdf(content, options.password), "--redo-ocr"
        if not options.ocr or not any(note.endswith(OCR_ADVICE) for note in parsed.notes):
            return parsed
    except ValueError as error:
        if not options.ocr or not str(error).endswith(OCR_ADVICE):
            raise
        method = "--force-ocr"  # whatever text there is
    parsed = read_pdf(recognise_text(_decrypted(content, options.password), options.ocr, method))
    notes = (note for note in parsed.notes if not note.endswith(OCR_ADVICE))  # on pages without text, such as plates
    return replace(parsed, notes=(*notes, "text of a scan, recognised by ocrmypdf"))


def _decrypted(content: bytes, password: str) -> bytes:
    """Return a PDF file without encryption, which ocrmypdf refuses."""
    from pypdfium2 import PdfDocument
    from pypdfium2_raw.bindings import FPDF_REMOVE_SECURITY

    copy = BytesIO()
    with PdfDocument(content, password=password or None) as document:
        document.save(copy, flags=FPDF_REMOVE_SECURITY)
    return copy.getvalue()


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
