"""From the pages of an RFC to one run of lines."""

import re
from collections import Counter

_PAGE_END = re.compile(r"(\[[Pp]age +[\divxlc]+\][^\n]*(?:\s*\f)?|\f)")
_HEADER = re.compile(r"\s*(?:NWG/)?RFC[ :#-]*\d+\b|.*\s(?:19|20)\d\d$")
_PAGE_NUMBER = re.compile(r"\s*(?:[Pp]age)?[- ]*[\divxlc]{1,4}[- ]*$")
_VARYING = re.compile(r"[\d\s]+")


def without_page_breaks(text: str) -> list[str]:
    """Take headers and footers out, and put paragraphs together that a page break cut in two.

    Header and footer are lines at a page's edge that look like one, or that stand at the edge of many pages.

    Returns:
        The lines, without space at their ends and without tabs.
    """
    pages = _pages(text)
    edges = Counter(_shape(line) for page in pages for line in (*_top(page), page[-1]))
    common = {shape for shape, times in edges.items() if times > max(2, len(pages) // 4)}
    lines: list[str] = []
    for number, page in enumerate(pages):
        first = _body_start(page, common) if number else 0
        last = _body_end(page, common) if number + 1 < len(pages) else len(page)
        if first >= last:
            continue
        if lines and not _goes_on(lines[-1], page[first]):
            lines.append("")
        lines += page[first:last]
    return lines


def indentation(line: str) -> int:
    """Count the spaces before the first character."""
    return len(line) - len(line.lstrip())


def _pages(text: str) -> list[list[str]]:
    """Split a text where a page ends: behind "[Page 7]", which goes with its line, or at a form feed."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff").expandtabs()
    parts = _PAGE_END.split(text)
    pages: list[list[str]] = []
    for place in range(0, len(parts), 2):
        lines = [line.rstrip() for line in parts[place].split("\n")]
        if place + 1 < len(parts) and parts[place + 1][0] == "[":
            del lines[-1]
        lines = _trimmed(lines)
        if lines:
            pages.append(lines)
    return pages


def _trimmed(lines: list[str]) -> list[str]:
    """Leave out empty lines at both ends."""
    filled = [place for place, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _top(page: list[str]) -> list[str]:
    """Give the first two lines of a page that are not empty: a header may have two."""
    return [line for line in page[:4] if line][:2]


def _body_start(page: list[str], common: set[str]) -> int:
    """Find the first line that is no header."""
    start = 0
    for place, line in enumerate(_top(page)):
        # A second line that begins with an RFC's number is as often text.
        if not (place == 0 and _HEADER.match(line)) and _shape(line) not in common:
            break
        start = page.index(line) + 1
    while start < len(page) and not page[start]:
        start += 1
    return start


def _body_end(page: list[str], common: set[str]) -> int:
    """Find the end of the last line that is no footer."""
    end = len(page)
    if _PAGE_NUMBER.match(page[-1]) or _shape(page[-1]) in common:
        end -= 1
    while end and not page[end - 1]:
        end -= 1
    return end


def _shape(line: str) -> str:
    """Give what two headers that differ in date or page number have in common."""
    return _VARYING.sub(" ", line)


def _goes_on(before: str, after: str) -> bool:
    """Tell whether a paragraph continues on the next page."""
    indent = indentation(before)
    return len(before) > 50 and before[-1] not in ".:;?!" and indent <= indentation(after) < indent + 5
