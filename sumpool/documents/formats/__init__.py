"""Formats of documents: one module per format, with `parse(content, options) -> ParsedDocument`.

`load_format` checks that the libraries of a format are installed. A format raises `ValueError` with a message that
lacks the subject ("must be a PDF file, got ...") for content that it cannot read.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Final, cast

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
    ".man": "man",
    ".roff": "man",
    ".mdoc": "mdoc",
    ".pdf": "pdf",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".docx": "docx",
    ".odt": "odt",
    ".pptx": "pptx",
    ".xlsx": "xlsx",
    ".rtf": "rtf",
    ".org": "org",
    ".tex": "latex",
    ".latex": "latex",
    ".jats": "jats",
    ".nxml": "jats",
    ".ipynb": "ipynb",
    ".wiki": "mediawiki",
    ".mediawiki": "mediawiki",
    ".typ": "typst",
    ".epub": "epub",
    ".eml": "mail",
    ".mbox": "mail",
    ".srt": "subtitles",
    ".vtt": "subtitles",
    ".sbv": "subtitles",
    ".lrc": "subtitles",
}
"""Format of each suffix of file names; content decides where a text has another one or none."""

PANDOC: Final[dict[str, str]] = {
    "docx": "DOCX",
    "odt": "ODT",
    "pptx": "PPTX",
    "xlsx": "XLSX",
    "rtf": "RTF",
    "man": "roff",
    "mdoc": "roff",
    "org": "Org",
    "latex": "LaTeX",
    "jats": "JATS",
    "ipynb": "Jupyter",
    "mediawiki": "MediaWiki",
    "typst": "Typst",
}
"""Names in messages of the formats that pandoc reads."""

LIBRARIES: Final[dict[str, tuple[str, ...]]] = {
    "pdf": ("pypdfium2",),
    "rst": ("docutils",),
    "html": ("lxml", "trafilatura"),
    "epub": ("lxml",),
    "mail": ("lxml",),
    **dict.fromkeys(PANDOC, ("lxml", "pypandoc")),
}
"""Modules of the extra `documents` that a format imports."""


Parse = Callable[[bytes, ReadOptions], ParsedDocument]
"""Function of a format that reads the content of a file."""


def load_format(name: str) -> Parse:
    """Import a format by its module's name, and return its `parse`.

    Raises:
        ValueError: If there is no such format; the message lacks the subject.
        DataError: If a library of it is not installed.
    """
    check_libraries(name)
    if name in PANDOC:
        return partial(import_module(f"{__name__}._pandoc").parse, name=name)
    module = f"{__name__}.{name}"
    if find_spec(module) is None:
        raise ValueError(f"must be of a supported format, got {name}")
    return cast(Parse, import_module(module).parse)


def check_libraries(name: str) -> None:
    """Raise DataError if a library of a format is not installed."""
    for library in LIBRARIES.get(name, ()):
        if find_spec(library) is None:
            title = PANDOC.get(name, name)
            raise DataError(f"{title} files need {library}, which is not installed: pip install 'sumpool[documents]'")
