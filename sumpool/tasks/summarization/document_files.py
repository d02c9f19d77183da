"""Texts of prepared data as the files that a person has, to evaluate summaries through the readers of documents.

A text becomes plain text, a web page or a PDF file with its headings, paragraphs and list items, and is read again
as a file of that format is.
"""

import textwrap
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Final, Literal

from sumpool.documents.document import DEFAULT_OPTIONS, Document
from sumpool.documents.formats.text import TextSpan, text_spans
from sumpool.documents.read import parse_documents

FileFormat = Literal["text", "html", "pdf"]
_SUFFIX: Final = {"text": ".txt", "html": ".html", "pdf": ".pdf"}
_TAGS: Final = {"paragraph": "p", "caption": "p", "notice": "p", "list_item": "li", "table_row": "p", "code": "pre"}
_COLUMNS = 88
"""Characters of a line of a PDF page."""
_TEXT_HEIGHT = 690
"""Points of a PDF page that hold lines."""


def read_as_file(id: str, text: str, kind: FileFormat) -> Document:
    """Return a text as it is read from a file of a format.

    Args:
        id: Name of the document.
        text: The text.
        kind: Format of the file.
    """
    content = _pdf(text) if kind == "pdf" else _html(text) if kind == "html" else text.encode()
    (document,) = parse_documents(f"{id}{_SUFFIX[kind]}", _SUFFIX[kind], lambda: content, DEFAULT_OPTIONS)
    return document


def _parts(text: str) -> Iterator[tuple[TextSpan, str]]:
    for span in text_spans(text):
        part = text[span.start : span.end]
        yield span, part if span.kind == "code" else " ".join(part.split())


def _html(text: str) -> bytes:
    body = ""
    for is_list, group in groupby(_parts(text), key=lambda part: part[0].kind == "list_item"):
        elements = ""
        for span, part in group:
            tag = f"h{min(max(span.level, 1) + 1, 6)}" if span.kind == "heading" else _TAGS[span.kind]
            elements += f"<{tag}>{escape(part)}</{tag}>\n"
        body += f"<ul>\n{elements}</ul>\n" if is_list else elements
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>\n{body}</body></html>'.encode()


def _pdf(text: str) -> bytes:
    """Write pages of one column in Helvetica, whose characters are those of Windows-1252; others become "?"."""
    pages: list[list[str]] = [[]]
    height = 0
    for span, part in _parts(text):
        font, size, leading = ("F2", 14, 22) if span.kind == "heading" else ("F1", 10, 12)
        part = f"\u2022 {part}" if span.kind == "list_item" else part
        lines = textwrap.wrap(part, _COLUMNS) if span.kind != "code" else part.splitlines()
        for line in ["", *lines]:
            if height + leading > _TEXT_HEIGHT:
                pages.append([])
                height = 0
            height += leading
            shown = line.encode("cp1252", "replace").decode("latin-1")
            shown = shown.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            pages[-1].append(f"/{font} {size} Tf 1 0 0 1 72 {770 - height} Tm ({shown}) Tj")
    first = 5  # after catalogue, pages and two fonts
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        font.format("Helvetica"),
        font.format("Helvetica-Bold"),
    ]
    for number, page in enumerate(pages):
        resources = "<< /Font << /F1 3 0 R /F2 4 0 R >> >>"
        contents = first + 2 * number + 1
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources {resources} /Contents {contents} 0 R >>"
        )
        stream = "BT\n" + "\n".join(page) + "\nET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    file, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(file))
        file += f"{number} 0 obj\n{content}\nendobj\n"
    entries = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(file)}\n%%EOF\n"
    return f"{file}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{entries}{trailer}".encode("latin-1")
