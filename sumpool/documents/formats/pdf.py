"""PDF files, read by PDFium (pypdfium2): reading order, paragraphs and headings from the places and fonts of the text.

Hyphens at line ends are joined; running headers, page numbers, line numbers, rotated and hidden text are left out. A
page's notes come behind its text.
"""

import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from sumpool.documents.document import Limits, ParsedDocument, ReadOptions
from sumpool.documents.formats import missing_library
from sumpool.documents.worker import lift_limits
from sumpool.errors import DataError

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


FREE_BYTES: Final = 64 * 2**20
"""Size of an unpacked stream below which every ratio is read: a white page in 600 dpi has a thousand to one."""
_STREAM = re.compile(rb"(?<!end)stream\r?\n")
_BLOCK: Final = 2**16
_LAYERS: Final = 4
"""Filters of one stream that are followed."""


def check_streams(content: bytes, limits: Limits) -> None:
    """Check that no stream of a PDF file unpacks to too much.

    Raises:
        ValueError: If one does; the message lacks the subject.
    """
    for match in _STREAM.finditer(content):
        end = content.find(b"endstream", match.end())
        blocks = _blocks(content, match.end(), len(content) if end < 0 else end)
        _check(blocks, limits, len(content), _LAYERS)


def _check(blocks: Iterator[bytes], limits: Limits, packed: int, layers: int) -> None:
    """Unpack the blocks of a stream, and what they unpack to, until the end or a limit."""
    first = next(blocks, b"")
    if layers and _is_deflated(first):
        _check(_limited(_inflate(first, blocks), limits, packed), limits, packed, layers - 1)
    elif layers < _LAYERS:
        for _ in blocks:
            pass


def _limited(blocks: Iterator[bytes], limits: Limits, packed: int) -> Iterator[bytes]:
    """Yield blocks, and raise a ValueError once they are too many."""
    size = 0
    for block in blocks:
        size += len(block)
        limits.check_bytes(size)
        if size > FREE_BYTES:
            limits.check_ratio(size, packed)
        yield block


def _blocks(content: bytes, start: int, end: int) -> Iterator[bytes]:
    for place in range(start, end, _BLOCK):
        yield content[place : min(place + _BLOCK, end)]


def _is_deflated(start: bytes) -> bool:
    """Return whether bytes begin with the header of a zlib stream."""
    return len(start) > 1 and start[0] & 0x0F == zlib.DEFLATED and int.from_bytes(start[:2]) % 31 == 0


def _inflate(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of a zlib stream as far as it is intact, in blocks."""
    unpacker = zlib.decompressobj()
    packed: bytes | None = first
    while packed is not None:
        try:
            block = unpacker.decompress(packed, _BLOCK)
        except zlib.error:
            return
        yield block
        packed = None if unpacker.eof else unpacker.unconsumed_tail or next(rest, None)


OCR_ADVICE: Final = "run it through OCR first, which --ocr LANGUAGE does by ocrmypdf"
"""What to do about a file without text, as errors end."""
_LANGUAGES: Final = re.compile(r"[A-Za-z][\w/-]*(?:\+[A-Za-z][\w/-]*)*")
_SECONDS: Final = 3600
"""Time that the program may take; a page takes a few seconds."""


def ocr_program() -> str:
    """Return the path of ocrmypdf.

    Raises:
        DataError: If it is not installed.
    """
    program = shutil.which("ocrmypdf")
    if program is None:
        raise DataError("--ocr needs the program ocrmypdf, which is not installed: apt install ocrmypdf")
    return program


def recognise_text(content: bytes, languages: str) -> bytes:
    """Return a PDF file with the text of its pictures.

    Args:
        content: PDF file.
        languages: Languages of Tesseract, joined by "+".

    Raises:
        ValueError: If the program fails; the message lacks the subject.
        DataError: If it is not installed.
    """
    if not _LANGUAGES.fullmatch(languages):
        raise DataError(f"--ocr must be languages of Tesseract such as eng or deu+fra, got {languages!r}")
    command = [ocr_program(), "--quiet", "--force-ocr", "--output-type", "pdf", "--language", languages, "-", "-"]
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
