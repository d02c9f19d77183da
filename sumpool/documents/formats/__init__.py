"""Formats of documents: one module per format, with `parse(content, options) -> ParsedDocument`.

A format imports its library inside `parse`, so that other formats do not need it, and raises `ValueError` with a
message that lacks the subject ("must be a PDF file, got ...") for content that it cannot read.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol, cast

from sumpool.documents.document import ParsedDocument, ReadOptions
from sumpool.errors import DataError

FORMATS: Final[dict[str, str]] = {
    ".txt": "text",
    ".text": "text",
    ".log": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "rst",
    ".rest": "rst",
    ".man": "roff",
    ".roff": "roff",
    ".mdoc": "roff",
    ".pdf": "pdf",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".docx": "docx",
    ".odt": "odt",
    ".epub": "epub",
    ".eml": "mail",
    ".mbox": "mail",
    ".srt": "subtitles",
    ".vtt": "subtitles",
    ".sbv": "subtitles",
}
"""Format of each suffix of file names; content decides where a text has another one or none."""

LIBRARIES: Final[dict[str, tuple[str, ...]]] = {
    "pdf": ("pypdfium2",),
    "rst": ("docutils",),
    "html": ("lxml", "trafilatura"),
    "docx": ("lxml",),
    "odt": ("lxml",),
    "epub": ("lxml",),
    "mail": ("lxml",),
}
"""Modules of the extra `documents` that a format imports."""


class Format(Protocol):
    """Interface of a format module."""

    def parse(self, content: bytes, options: ReadOptions) -> ParsedDocument:
        """Read the content of a file.

        Raises:
            ValueError: If the content is not of the format; the message lacks the subject.
            DataError: If a library is not installed.
        """


def load_format(name: str) -> Format:
    """Import a format by its module's name.

    Raises:
        ValueError: If there is no such format; the message lacks the subject.
    """
    module = f"{__name__}.{name}"
    if find_spec(module) is None:
        raise ValueError(f"must be of a supported format, got {name}")
    return cast(Format, import_module(module))


def missing_library(library: str, format_name: str) -> DataError:
    """Return the error that names a library of the extra `documents` that is not installed."""
    return DataError(f"{format_name} files need {library}, which is not installed: pip install 'sumpool[documents]'")
