"""Recognition of the text of scans by ocrmypdf, a program of its own (MPL-2.0) that runs Tesseract."""

import re
import shutil
import subprocess
import sys
from typing import Final

from sumpool.documents.worker import lift_limits
from sumpool.errors import DataError

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
