"""Lines of plain text: drawings and prose among them, the pages that they were printed on, and their rows."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from sumpool.text.language import function_words
from sumpool.text.sentences import list_letters, list_mark, may_end_paragraph

_RULE = re.compile(r"([^\w\s])\1{2,}+(?:\s+\1{2,}+)*+$|(?:[-=_*+~#.|]\s?){4,}$")
_COLUMNS = re.compile(r"\S {5,}\S|(?:\. ?){4}")
_CORNER = re.compile(r"--\+|\+--")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_WORD = re.compile(r"[\"'(\[|]*([A-Za-z]+(?:['/-][A-Za-z]+)*)[\"')\]|]*[.,;:?!]*[\"')\]]*")


def is_rule(line: str) -> bool:
    """Return whether a line without leading space is drawn, not written."""
    return bool(_RULE.match(line))


def has_columns(lines: Sequence[str]) -> bool:
    """Return whether a line has cells far apart or leaders of dots."""
    return any(_COLUMNS.search(line.lstrip()) for line in lines)


def lacks_punctuation(line: str) -> bool:
    """Return whether a line does not end in punctuation."""
    return line[-1] not in ",)\"'" and not may_end_paragraph(line)


def reads_as_prose(lines: Sequence[str]) -> bool:
    """Return whether lines read as sentences: most words are words, and every fourth is a function word of English."""
    words = " ".join(lines).split()
    matches = [match[1].lower() for word in words if (match := _WORD.fullmatch(word))]
    known = function_words("en") | {"a"}  # which tells no language, as several have it
    functional = sum(map(known.__contains__, matches))
    return len(words) > 7 and 4 * functional >= len(words) and 4 * len(matches) >= 3 * len(words)


def is_drawing(lines: Sequence[str]) -> bool:
    """Return whether lines are a drawing, a numeric table or a dump, by their fraction of letters and their rules.

    Sentences with many numbers, or with names between bars ("the |Origin| header"), are none.
    """
    text = "".join("".join(lines).split()).encode("ascii", "ignore")
    # with cells between bars, or parts of a rule
    drawn = sum(line.count("|") > 1 or bool(_CORNER.search(line)) or "====" in line for line in lines)
    if len(text.translate(None, _NO_LETTERS)) >= 0.7 * len(text) and drawn < 2:
        return False
    is_prose = reads_as_prose(lines) and not lacks_punctuation(lines[-1])
    return not is_prose or has_columns(lines) or any(is_rule(line.lstrip()) or _CORNER.search(line) for line in lines)


_PAGE_END = re.compile(r"(\[[Pp]age +[\divxlc]+\][^\n]*(?:\s*\f)?|\f)")
_HEADER = re.compile(r"\s*(?:NWG/)?RFC[ :#-]*\d+\b|.*\s(?:19|20)\d\d$")
_PAGE_NUMBER = re.compile(r"[- ]*+(?:[Pp]age[- ]*+)?[\divxlc]{1,4}[- ]*$")
_VARYING = re.compile(r"[\d\s]+")
_REVISION_BAR = re.compile(r"^([^|]*[^|\s])\s{2,}\|$")
_MIN_LINES = 20
"""Long lines that stand alone in a double-spaced text although their sentence goes on."""
_RAGGED = 15
"""Columns that a line of a paragraph may end before the right edge."""


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Remove headers and footers, and rejoin paragraphs that span a page break or have an empty line after every line.

    Headers and footers are recognised by their form, or by recurring at the edge of many pages. Double spacing is
    recognised by long lines that stand alone although their sentence goes on.

    Returns:
        Lines without trailing space and tabs, each with its number in the text, from 1.
    """
    pages = _split_pages(text)
    edges = Counter(_shape(line) for _, page in pages for line in (*_top(page), page[-1]))
    common = {shape for shape, times in edges.items() if times > max(2, len(pages) // 4)}
    lines: list[tuple[int, str]] = []
    for index, (number, page) in enumerate(pages):
        first, last = 0, len(page)
        for position, line in enumerate(_top(page) if index else ()):
            # A second line that begins with an RFC number is text as often as it is a header.
            if not (position == 0 and _HEADER.match(line)) and _shape(line) not in common:
                break
            first = page.index(line) + 1
        while index and first < last and not page[first]:
            first += 1
        if index + 1 < len(pages):
            last -= bool(_PAGE_NUMBER.match(page[-1])) or _shape(page[-1]) in common
            while last and not page[last - 1]:
                last -= 1
        if first >= last:
            continue
        before = lines[-1][1] if lines else ""
        shift = indentation(page[first]) - indentation(before)
        if lines and (len(before) <= 50 or not 0 <= shift < 5 or may_end_paragraph(before)):
            lines.append((number + first, ""))  # as no paragraph continues on the page
        lines += enumerate(page[first:last], number + first)
    return _single_spaced(lines)


def indentation(line: str) -> int:
    """Return the number of leading spaces."""
    return len(line) - len(line.lstrip())


def _split_pages(text: str) -> list[tuple[int, list[str]]]:
    """Split a text after each page end: a line with "[Page 7]", which is removed, or a form feed.

    Returns:
        For each page the number of its first line, from 1, and its lines without trailing space, from the first to
        the last that is not empty.
    """
    text = text.replace("\r\n", "\n").removeprefix("\ufeff").expandtabs()
    parts = _PAGE_END.split(text)
    pages: list[tuple[int, list[str]]] = []
    number = 1
    for part, page_end in zip_longest(parts[::2], parts[1::2], fillvalue="\f"):
        lines = [line.rstrip() for line in part.split("\n")]
        start, number = number, number + len(lines) - 1 + page_end.count("\n")
        if page_end[0] == "[":
            del lines[-1]
        filled = [index for index, line in enumerate(lines) if line]
        if filled:
            pages.append((start + filled[0], lines[filled[0] : filled[-1] + 1]))
    return pages


def _top(page: list[str]) -> list[str]:
    """Return the lines that may be a header: the first two non-empty ones."""
    return [line for line in page[:4] if line][:2]


def _shape(line: str) -> str:
    """Replace digits and spaces, so that headers differing in date or page number are equal."""
    return _VARYING.sub(" ", line)


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


_TERMINAL_CODE = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])|\x1b")
EDITOR_MODE = re.compile(r"-\*-(?P<mode>[^\n*]{1,200})-\*-")
_OVERSTRIKE = re.compile(r"[^\n]\x08")
_FRAME = re.compile(
    r"^[ \t]*+([*#])\1{9,}+[ \t]*\n((?:[ \t]*+\1(?:[ \t][^\n]*)?[ \t]\1[ \t]*\n)++)[ \t]*\1{10,}+[ \t]*$", re.MULTILINE
)
"""Lines between two rules that begin and end with the character of the rules."""
_ARMOUR = re.compile(r"-----BEGIN (?P<name>[A-Z0-9 ]{3,60})-----|begin [0-7]{3,4} \S.{0,200}")
_CIRCLED = re.compile(r"[\u2460-\u2473]\s")
_FENCE = re.compile(r"(```+)[^`]{0,100}")
_ENDS = ("-----END ", "end", "```")
_BROKEN_WORD = re.compile(r"(?<=\w)- (?=[a-z0-9])(?!(?:and|or|to) )")
_BROKEN_RANGE = re.compile(r"(?<=\d)\u2013 (?=\d)")
_CJK_BREAK = re.compile(r"(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]) (?=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])")
_MIN_PAGE_LINES, _MAX_PAGE_LINES = 20, 90
"""Lines of a printed page."""


class TextRow(NamedTuple):
    """Line of a text.

    Attributes:
        number: Number in the text, from 1.
        indent: Leading spaces.
        text: Line without leading and trailing space; never empty.
        mark: Length of the mark of a list item and the space behind it; 0 if there is none.
    """

    number: int
    indent: int
    text: str
    mark: int = 0

    @property
    def end(self) -> int:
        """Column behind the last character."""
        return self.indent + len(self.text)


def row_groups(text: str) -> list[list[TextRow]]:
    """Split a text at empty lines, without terminal codes, modes of editors, frames, overstrikes and page breaks."""
    text = _TERMINAL_CODE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = EDITOR_MODE.sub("", text)
    text = _FRAME.sub(lambda frame: "\n" + "\n".join(line.strip()[1:-1] for line in frame[2].split("\n")), text)
    while "\b" in text:
        text, count = _OVERSTRIKE.subn("", text)
        if not count:
            text = text.replace("\b", "")
    sizes = [len(lines) for _, lines in _split_pages(text)] if text.count("\f") > 1 else []
    is_printed = 2 * sum(_MIN_PAGE_LINES <= size <= _MAX_PAGE_LINES for size in sizes) > len(sizes)
    numbered: Iterable[tuple[int, str]] = (
        numbered_lines(text)
        if is_printed or "[Page " in text  # otherwise form feeds separate sections
        else enumerate(text.replace("\f", "").expandtabs().split("\n"), 1)
    )
    groups: list[list[TextRow]] = []
    lines = [(number, line, line.strip()) for number, line in numbered]
    letters = list_letters(stripped for _, _, stripped in lines)
    has_circled_items = sum(bool(_CIRCLED.match(stripped)) for _, _, stripped in lines) > 1
    ends = {text: number for number, _, text in lines if text.startswith(_ENDS)}
    in_group, end = False, ""
    for number, line, text in lines:
        opening = "" if end else _end_of(text)
        if opening and ends.get(opening, 0) > number:
            end = opening
            groups.append([])
        elif text and not in_group:
            groups.append([])
        if text:
            is_no_item = _CIRCLED.match(text) and not has_circled_items
            groups[-1].append(TextRow(number, indentation(line), text, 0 if is_no_item else list_mark(text, letters)))
        if end and text == end and not opening:
            end = text = ""
        in_group = bool(text or end)
    return groups


def is_fenced(rows: Sequence[TextRow]) -> bool:
    """Return whether lines are a key, a certificate, an encrypted text, a file in letters, or code between fences."""
    return len(rows) > 1 and rows[-1].text == _end_of(rows[0].text)


def _end_of(line: str) -> str:
    """Return the line that ends what a line begins: an encrypted text, code between fences; empty if it begins none."""
    fence, armour = _FENCE.fullmatch(line), _ARMOUR.fullmatch(line)
    if fence:
        return fence[1]
    return f"-----END {armour['name']}-----" if armour and armour["name"] else "end" if armour else ""


def join_rows(rows: Iterable[TextRow]) -> str:
    """Join lines with single spaces, words broken at a hyphen and Chinese or Japanese text without a space."""
    return _CJK_BREAK.sub("", unwrap(row.text for row in rows))


def unwrap(lines: Iterable[str]) -> str:
    """Join lines with single spaces; no space follows a hyphen, or the dash of a range, at a line end."""
    text = " ".join(" ".join(lines).split())
    text = _BROKEN_RANGE.sub("\u2013", text) if "\u2013 " in text else text
    return _BROKEN_WORD.sub("-", text) if "- " in text else text
