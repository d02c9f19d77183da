"""Formats of documents: one module per format, with `parse(content, options) -> ParsedDocument`.

A format imports its library inside `parse`, so that other formats do not need it, and raises `ValueError` with a
message that lacks the subject ("must be a PDF file, got ...") for content that it cannot read.
"""

from importlib import import_module
from typing import Final, Protocol, cast

from sumpool.documents.document import ParsedDocument, ReadOptions
from sumpool.errors import DataError

FORMATS: Final[dict[str, str]] = {
    ".pdf": "pdf",
}
"""Format of each suffix of file names."""


class Format(Protocol):
    """Interface of a format module."""

    def parse(self, content: bytes, options: ReadOptions) -> ParsedDocument:
        """Read the content of a file.

        Raises:
            ValueError: If the content is not of the format; the message lacks the subject.
            DataError: If a library is not installed.
        """


def load_format(name: str) -> Format:
    """Import a format by its module's name."""
    return cast(Format, import_module(f"sumpool.documents.formats.{name}"))


def missing_library(library: str, format_name: str) -> DataError:
    """Return the error that names a library of the extra `documents` that is not installed."""
    return DataError(f"{format_name} files need {library}, which is not installed: pip install 'sumpool[documents]'")
