"""Removal of page breaks, headers, footers and double spacing from texts that were laid out for a printer."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from sumpool.documents.plain_text.drawings import has_columns
from sumpool.text.sentences import list_mark, may_end_paragraph

_PAGE_END = re.compile(r"(\[[Pp]age +[\divxlc]+\][^\n]*(?:\s*\f)?|\f)")
_HEADER = re.compile(r"\s*(?:NWG/)?RFC[ :#-]*\d+\b|.*\s(?:19|20)\d\d$")
_PAGE_NUMBER = re.compile(r"[- ]*+(?:[Pp]age[- ]*+)?[\divxlc]{1,4}[- ]*$")
_VARYING = re.compile(r"[\d\s]+")
_REVISION_BAR = re.compile(r"^([^|]*[^|\s])\s{2,}\|$")
_MIN_LINES = 20
"""Long lines that stand alone in a double-spaced text although their sentence goes on."""
_RAGGED = 15
"""Columns that a line of a paragraph may end before the right edge."""


@dataclass(frozen=True)
class PrintedPage:
    """Page of a text: its lines without trailing space, from the first to the last that is not empty.

    Attributes:
        first: Number of the first line in the text, from 1.
        lines: Lines; at least one.
    """

    first: int
    lines: list[str]


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Remove headers and footers, and rejoin paragraphs that span a page break or have an empty line after every line.

    Headers and footers are recognised by their form, or by recurring at the edge of many pages. Double spacing is
    recognised by long lines that stand alone although their sentence goes on.

    Returns:
        Lines without trailing space and tabs, each with its number in the text, from 1.
    """
    pages = split_pages(text)
    edges = Counter(_shape(line) for page in pages for line in (*_top(page.lines), page.lines[-1]))
    common = {shape for shape, times in edges.items() if times > max(2, len(pages) // 4)}
    lines: list[tuple[int, str]] = []
    for index, page in enumerate(pages):
        first = _body_start(page.lines, common) if index else 0
        last = _body_end(page.lines, common) if index + 1 < len(pages) else len(page.lines)
        if first >= last:
            continue
        if lines and not _continues(lines[-1][1], page.lines[first]):
            lines.append((page.first + first, ""))
        lines += enumerate(page.lines[first:last], page.first + first)
    return _single_spaced(lines)


def indentation(line: str) -> int:
    """Return the number of leading spaces."""
    return len(line) - len(line.lstrip())


def split_pages(text: str) -> list[PrintedPage]:
    """Split a text after each page end: a line with "[Page 7]", which is removed, or a form feed."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff").expandtabs()
    parts = _PAGE_END.split(text)
    pages: list[PrintedPage] = []
    number = 1
    for part, page_end in zip_longest(parts[::2], parts[1::2], fillvalue="\f"):
        lines = [line.rstrip() for line in part.split("\n")]
        start, number = number, number + len(lines) - 1 + page_end.count("\n")
        if page_end[0] == "[":
            del lines[-1]
        filled = [index for index, line in enumerate(lines) if line]
        if filled:
            pages.append(PrintedPage(start + filled[0], lines[filled[0] : filled[-1] + 1]))
    return pages


def _top(page: list[str]) -> list[str]:
    """Return the lines that may be a header: the first two non-empty ones."""
    return [line for line in page[:4] if line][:2]


def _body_start(page: list[str], common: set[str]) -> int:
    """Return the index of the first line after the header."""
    start = 0
    for index, line in enumerate(_top(page)):
        # A second line that begins with an RFC number is text as often as it is a header.
        if not (index == 0 and _HEADER.match(line)) and _shape(line) not in common:
            break
        start = page.index(line) + 1
    while start < len(page) and not page[start]:
        start += 1
    return start


def _body_end(page: list[str], common: set[str]) -> int:
    """Return the index after the last line before the footer."""
    end = len(page)
    if _PAGE_NUMBER.match(page[-1]) or _shape(page[-1]) in common:
        end -= 1
    while end and not page[end - 1]:
        end -= 1
    return end


def _shape(line: str) -> str:
    """Replace digits and spaces, so that headers differing in date or page number are equal."""
    return _VARYING.sub(" ", line)


def _continues(before: str, after: str) -> bool:
    """Return whether a paragraph continues on the next page."""
    indent = indentation(before)
    return len(before) > 50 and indent <= indentation(after) < indent + 5 and not may_end_paragraph(before)


def _single_spaced(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Remove the empty lines inside paragraphs of a double-spaced text; other texts are returned unchanged."""
    texts = ["", *(line for _, line in lines), ""]
    starts = [line.lstrip() for line in texts]
    ends = sorted(len(line) for line in texts if len(line) > 50)
    alone = sum(
        len(line) > 50 and not before and not after and behind[:1].islower() and not may_end_paragraph(line)
        for before, line, after, behind in zip(texts, texts[1:], texts[2:], starts[3:], strict=False)
    )
    if alone < _MIN_LINES or 10 * alone < len(ends):
        return lines
    edge = ends[len(ends) * 9 // 10]
    lines = [(number, _REVISION_BAR.sub(r"\1", line)) for number, line in lines]
    texts[1:-1] = [line for _, line in lines]
    return [
        (number, line)
        for (number, line), (before, _), (_, after) in zip(lines, pairwise(texts), pairwise(texts[1:]), strict=False)
        if line or not before or not after or not _is_continued(before, after, edge)
    ]


def _is_continued(before: str, after: str, edge: int) -> bool:
    """Return whether two lines of a double-spaced text belong to one paragraph, given the column of the right edge."""
    if has_columns([before, after]) or list_mark(after.lstrip()):
        return False
    if after.lstrip()[0].islower() and len(before) > 40:
        return True
    return len(before) >= edge - _RAGGED and indentation(after) < indentation(before) + 4
