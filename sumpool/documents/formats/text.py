"""Plain text: headings, paragraphs, list items, table rows, captions and code, by the layout of lines.

Files and rows are read alike: a file becomes blocks of joined lines, a row spans of its own text, which stays as it is,
so that offsets in it are valid.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock, TextBlockKind, opening_heading
from sumpool.documents.sections import CAPTION, is_caption
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
    kept: list[tuple[int, str]] = []
    for (number, line), (before, _), (_, after) in zip(lines, pairwise(texts), pairwise(texts[1:]), strict=False):
        is_continued = False
        if before and after and not line and not has_columns([before, after]) and not list_mark(after.lstrip()):
            is_full = len(before) >= edge - _RAGGED and indentation(after) < indentation(before) + 4
            is_continued = is_full or (after.lstrip()[0].islower() and len(before) > 40)
        if not is_continued:
            kept.append((number, line))
    return kept


_TERMINAL_CODE = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])|\x1b")
_EDITOR_MODE = re.compile(r"-\*-[^\n*]{1,200}-\*-")
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
    text = _EDITOR_MODE.sub("", text)
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


_QUESTION, _ANSWER = re.compile(r"Q[.:] +\S"), re.compile(r"A[.:] +\S")
"""First lines of a question and of its answer."""
_FIELD = re.compile(r"[A-Z][\w-]{0,20}(?: [\w-]{1,20}){0,2} *: ")
"""Name of a field, as in the header of a mail."""
_GAP = re.compile(r"(?<=[^\s.!?:]) {3,}(?=\S)|(?<=\S) {5,}(?=\S)|\t")
_CODE_LINE = re.compile(
    r"^(?:[$%>] \S|# (?!.*\.$)|>>> |\.\.\. |//|/\*|#include|#!|import \w+$|from \w+ import|def \w+\(|class \w+[(:])"
    r"|[{}\\]$|^\S+(?:\s\S+){0,3};$|\w\(\S*\);?$|^\S+=\S*$|^[\w.]+ [:+-]?= |^</?\w|/>$|&&|\|\|| \| \w+"
    r"|^--?\w[\w-]*(?:[ =]\S+)?$|^[./~][\w./-]+$"
)
_NARROW = 0.6
"""Share of the lines' width in the document below which lines were broken on purpose."""
_MAX_LINE = 160
"""Longest line of a hard-wrapped text; a longer one is a paragraph."""


def _has_long_prose(rows: Sequence[TextRow]) -> bool:
    """Return whether a line is a whole paragraph: no limit breaks it, and it ends as a paragraph does."""
    return any(row.end > _MAX_LINE and may_end_paragraph(row.text) for row in rows)


def _is_table(rows: Sequence[TextRow]) -> bool:
    """Return whether lines are rows of a table: most have cells apart from each other, in few columns."""
    if _has_long_prose(rows) and not _has_bars(rows):
        return False
    cells = sum(bool(_GAP.search(row.text[row.mark :])) or row.text.count("|") > 1 for row in rows)
    return 2 * cells > len(rows) and (
        len(rows) > 1 or rows[0].text.count("|") > 1 or len(_GAP.findall(rows[0].text)) > 1
    )


def _has_bars(rows: Sequence[TextRow]) -> bool:
    """Return whether all lines stand between vertical bars, as rows of a table in Markdown or reStructuredText do."""
    return all(len(row.text) > 2 and row.text[0] == row.text[-1] == "|" for row in rows)


def _is_code(rows: Sequence[TextRow], base_indent: int) -> bool:
    """Return whether lines are a drawing, or code by their characters, the more so where they are indented."""
    texts = [row.text for row in rows]
    if len(rows) > 1 and not any(row.mark for row in rows):
        ascii_size, size = sum(len(text.encode("ascii", "ignore")) for text in texts), sum(map(len, texts))
        if ascii_size >= 0.8 * size and is_drawing(texts):  # one of another script is none
            return True
    if rows[0].mark or _has_long_prose(rows):
        return False
    marked = sum(bool(_CODE_LINE.search(row.text)) for row in rows)
    indented = all(row.indent >= base_indent + 4 for row in rows)
    if indented and not any(may_end_paragraph(row.text) for row in rows):
        lower = all(row.text[0].islower() or not row.text[0].isalpha() for row in rows)
        return 2 * (marked + lower) > (1 if len(rows) == 1 else len(rows))
    return marked > (0.4 if indented else 0.6) * len(rows)


def _split_paragraphs(rows: Sequence[TextRow], edge: int) -> Iterator[list[TextRow]]:
    """Split lines at list items, indented first lines, lines that end early, and between question and answer.

    Args:
        rows: Lines without an empty one between them.
        edge: Column where the lines of the document are wrapped.
    """
    early = _early_ends(rows, edge)
    hanging = len(rows) > 2 and rows[1].indent > rows[0].indent and not rows[0].mark
    fields = sum(bool(_FIELD.match(row.text)) for row in rows) > 1
    paragraph = [rows[0]]
    for index, row in enumerate(rows[1:], 1):
        first, last = paragraph[0], rows[index - 1]
        step = row.indent - last.indent
        is_item = row.mark > 0 and (
            step > 0 or (first.mark and row.indent <= first.indent) or may_end_paragraph(last.text)
        )
        is_indented = 2 <= step <= 10 and len(paragraph) > 1 and may_end_paragraph(last.text)  # as in books
        # A term above an indented definition, or the first line of the definition.
        is_term = row.indent == rows[0].indent and step < 0
        is_definition = last.indent == rows[0].indent and step > 0 and len(last.text) < 60
        if (
            index - 1 in early
            or (fields and _FIELD.match(row.text))
            or is_item
            or is_indented
            or (hanging and (is_term or is_definition))
            or (_ANSWER.match(row.text) and _QUESTION.match(first.text))
        ):
            yield paragraph
            paragraph = []
        paragraph.append(row)
    yield paragraph


def _early_ends(rows: Sequence[TextRow], edge: int) -> set[int]:
    """Return the indices of lines after which a paragraph ends, as the next word would have fitted."""
    if len(rows) < 2:
        return set()
    block_edge = max(row.end for row in rows)
    if len(rows) == 2 or block_edge < _NARROW * edge:
        block_edge = max(edge, block_edge)
    if block_edge > _MAX_LINE:
        return {index for index, row in enumerate(rows) if row.end > _MAX_LINE or may_end_paragraph(row.text)}
    early = {
        index
        for index, (row, following) in enumerate(pairwise(rows))
        if row.end + 1 + len(following.text.split(" ", 1)[0]) + _RAGGED <= min(block_edge, edge + _RAGGED)
    }
    breaks = {index for index in early if not rows[index + 1].text[0].islower() and rows[index].text[-1] not in ",-"}
    if 2 * len(early) > len(rows) - 1:
        return breaks
    return {index for index in breaks if may_end_paragraph(rows[index].text)}


_UNDERLINE = re.compile(r"([=\-~^*#\"'`+_:.])\1{2,}$")
_HASHES = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_NUMBERED = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,5}\.?|[A-Z](?:\.\d{1,3}){1,4}\.?|[A-Z]\.|[IVX]{1,5}\.|\u00a7 ?\d+"
    r"|(?:chapter|section|part|appendix|annex|kapitel|abschnitt|chapitre|cap\u00edtulo|\u0433\u043b\u0430\u0432\u0430)\s+[\w.]+[.:]?"
    r"|\u7b2c[\u4e00-\u9fff\d]{1,4}[\u7ae0\u8282\u7bc0])\s+\S",
    re.IGNORECASE,
)
_MAX_WORDS, _MAX_LENGTH, _MAX_LINES = 14, 90, 3
_MAX_SHORT_WORDS, _MAX_SHORT_LENGTH = 10, 70
_MAX_CAPITAL_WORDS = 8
_MAX_STOPPED_WORDS = 6
"""Words of a numbered heading that ends with a full stop."""
_MIN_MARKED = 2
"""Headings with hashes from which on no other lines count but those in capitals or above a rule."""
_STOPS = ".;,:\u3002\uff1b\uff0c\uff1a\uff01"


class TextPart(NamedTuple):
    """Part of a text.

    Attributes:
        kind: Kind of the part.
        rows: Its lines, without rules; the mark of the first is that of a list item or a heading.
        level: Depth of a heading or a list item, from 1; 0 for other kinds.
    """

    kind: TextBlockKind
    rows: Sequence[TextRow]
    level: int = 0


class Headings:
    """Headings of a document's lines.

    Attributes:
        groups: Lines between empty lines.
        base_indent: Indentation of most lines in groups that are more than two lines long.
    """

    def __init__(self, groups: Sequence[list[TextRow]]) -> None:
        """Take the lines of a document."""
        self.groups = groups
        indents = Counter(row.indent for group in groups if len(group) > 2 for row in group)
        self.base_indent = max(indents, key=lambda indent: (indents[indent], -indent), default=0)
        self.rules: list[str] = []
        marked = sum(self._marked(group, index) > 0 for group in groups for index in range(len(group)))
        self.is_marked = marked >= _MIN_MARKED

    def split(self, index: int) -> Iterator[tuple[TextPart | None, list[TextRow]]]:
        """Yield the headings of a group, each with the lines below it; None above the first."""
        group = self.groups[index]
        if is_fenced(group):
            yield None, group
            return
        heading: TextPart | None = None
        rows: list[TextRow] = []
        position = 0
        while position < len(group):
            level = self._marked(group, position)
            size = 1 if level else self._underlined(group, position)
            if size:
                if heading or rows:
                    yield heading, rows
                titles = [row for row in group[position : position + size] if not is_rule(row.text)]
                marks = [_HASHES.match(row.text) if level else None for row in titles]
                titles = [row._replace(mark=mark.end() if mark else 0) for row, mark in zip(titles, marks, strict=True)]
                position += size
                rule = group[position - 1].text[0]
                if not level and rule not in self.rules:
                    self.rules.append(rule)
                heading, rows = TextPart("heading", titles, level or 1 + self.rules.index(rule)), []
            else:
                rows.append(group[position])
                position += 1
        is_capitals = heading is None and len(rows) > 1 and _is_capitals(rows[0])
        if is_capitals and rows[1].text[0].isalpha() and not rows[1].text.isupper():  # no rest of the heading
            yield TextPart("heading", rows[:1], 1), rows[1:]
        elif heading is None and (level := self._level(index)):
            yield TextPart("heading", [row._replace(mark=0) for row in rows], level), []
        else:
            yield heading, rows

    def _marked(self, group: Sequence[TextRow], position: int) -> int:
        """Return the level of a line with the mark of a heading; 0 if it has none, or is one of several comments."""
        row = group[position]
        mark = None if row.indent else _HASHES.match(row.text)
        if not mark or is_rule(row.text) or is_fenced(group):
            return 0
        level = len(mark[1])
        near = group[max(position - 1, 0) : position + 2]
        hashes = [len(row.text) - len(row.text.lstrip("#")) for row in near]
        before = hashes[0] if position else level + 1
        after = hashes[-1] if position + 1 < len(group) else 0
        is_alone = level not in (before, after) and (level > 1 or before > 0)
        return level if is_alone and row.text[-1] != "." else 0

    def _underlined(self, group: Sequence[TextRow], position: int) -> int:
        """Return how many lines an underlined heading has with its rules; 0 if there is none."""
        start = position + 1 if is_rule(group[position].text) and len(group) > position + 2 else position
        if len(group) <= start + 1 or is_rule(group[start].text):
            return 0
        title, rule = group[start], group[start + 1]
        fits = 0.5 * len(title.text) <= len(rule.text) <= len(title.text) + 12 or start > position
        above = (
            position == 0
            or start > position
            or is_rule(group[position - 1].text)
            or group[position - 1].text[-1] in ".:"
        )
        is_heading = above and fits and _UNDERLINE.fullmatch(rule.text) and _is_title(title)
        return start + 2 - position if is_heading and not _is_table([title, title]) else 0

    def _level(self, index: int) -> int:
        """Return the level of a group that is a heading; 0 if it is none."""
        group = self.groups[index]
        row = group[0]
        following = self.groups[index + 1] if index + 1 < len(self.groups) else []
        if not following or len(group) > _MAX_LINES or not all(map(_is_title, group)):
            return 0
        numbered = _NUMBERED.match(row.text)
        wrapped = bool(numbered and _depth(numbered["number"]) > 1 and group[-1].text[-1] not in _STOPS)
        if len(group) > 1 and index > 0 and not wrapped:
            return 0
        if any(_is_table([row, row]) or is_rule(row.text) for row in group):
            return 0
        if self.is_marked and not _is_capitals(row):
            return 0
        is_stopped = row.text[-1] in _STOPS or group[-1].text[-1] in _STOPS
        if index == 0 and len(join_rows(group).split()) <= _MAX_WORDS and not is_stopped:
            return 1
        if numbered:
            depth = _depth(numbered["number"])
            sibling = _NUMBERED.match(following[0].text)
            is_item = row.indent > self.base_indent + 2 or (  # of a list, whose neighbours are numbered, too
                sibling is not None and depth == 1 == _depth(sibling["number"]) and following[0].indent >= row.indent
            )
            last = group[-1].text
            stopped = last[-1] in _STOPS and not (last[-1] == "." and len(last.split()) <= _MAX_STOPPED_WORDS)
            return 0 if is_item or stopped else min(depth, 6)
        if _is_capitals(row):
            return 1
        text, words = row.text, len(row.text.split())
        if self.base_indent < row.indent < 12 or words > _MAX_SHORT_WORDS or len(text) > _MAX_SHORT_LENGTH or row.mark:
            return 0
        if text[0].islower() or not text[0].isalpha() or text[-1] in _STOPS:
            return 0
        below = following[0]
        return 2 if len(following) > 1 or len(below.text) > len(text) + 10 or below.indent > row.indent else 0


def _depth(number: str) -> int:
    """Return the depth of the number of a section: 2 for "3.1."."""
    return len(re.findall(r"[^\W_]+", number)) if " " not in number else 1


def _is_title(row: TextRow) -> bool:
    return len(row.text) <= _MAX_LENGTH and any(map(str.isalpha, row.text)) and not _HASHES.match(row.text)


def _is_capitals(row: TextRow) -> bool:
    text = row.text
    if not text.isupper() or text[-1] in _STOPS or len(text.split()) > _MAX_CAPITAL_WORDS:
        return False
    letters = sum(map(str.isalpha, text))
    return letters >= 3 and 2 * letters > len(text)


_LINE_END = re.compile(r"\r\n|\r|\n")


def text_blocks(text: str) -> Iterator[TextBlock]:
    """Yield the blocks of a text, each in one line but for code."""
    for part in _text_parts(text):
        first, *others = part.rows
        if part.kind == "code":
            indent = min(row.indent for row in part.rows)
            content = "\n".join(" " * (row.indent - indent) + row.text for row in part.rows)
        elif part.kind == "table_row":
            content = " ".join(first.text.replace("|", " ").split())
        else:
            content = join_rows([first._replace(text=first.text[first.mark :]), *others])
        yield TextBlock(content, part.kind, part.level, line=first.number)


def text_spans(text: str) -> Iterator[tuple[TextBlock, int]]:
    """Yield the parts of a text as blocks of what stands there, with their starts in it, in characters.

    Rules, page headers and page footers belong to none; a part that they interrupt is a block on each side.
    """
    starts = [0, *(end.end() for end in _LINE_END.finditer(text)), len(text)]
    for part in _text_parts(text):
        first = part.rows[0]
        start = end = 0
        for row in part.rows:
            line = text[starts[row.number - 1] : starts[row.number]]
            begin = starts[row.number - 1] + len(line) - len(line.lstrip())
            if row is first:
                start = begin + first.mark
                if first.mark and first.text[first.mark - 1].isspace():  # where tabs may stand
                    start = begin + len(line.strip()) - len(line.strip().split(None, 1)[-1])
            elif text[end:begin].strip():
                yield TextBlock(text[start:end], part.kind, part.level), start
                start = begin
            end = starts[row.number - 1] + len(line.rstrip())
        yield TextBlock(text[start:end], part.kind, part.level), start


def _text_parts(text: str) -> Iterator[TextPart]:
    """Yield the parts of a text in order, without rules and what recurs on its pages."""
    groups = row_groups(text)
    ends = sorted(row.end for group in groups for row in group[:-1])
    edge = ends[len(ends) * 9 // 10] if ends else 0  # before which nine of ten lines that go on end
    headings = Headings(groups)
    for index in range(len(groups)):
        for heading, rows in headings.split(index):
            if heading:
                yield heading
            yield from _body(rows, edge, headings.base_indent)


def _body(rows: list[TextRow], edge: int, base_indent: int) -> Iterator[TextPart]:
    """Yield the parts of lines without an empty line or a heading between them."""
    if is_fenced(rows):
        yield TextPart("code", (rows[1:-1] or rows) if rows[0].text[0] == "`" else rows)
        return
    rows = [row for row in rows if not is_rule(row.text)]
    if not rows:
        return
    if not _has_bars(rows) and _is_code(rows, base_indent):
        yield TextPart("code", rows)
        return
    if _is_table(rows):
        yield from (TextPart("table_row", [row]) for row in rows)
        return
    for paragraph in _split_paragraphs(rows, edge):
        first = paragraph[0]
        if first.mark:
            yield TextPart("list_item", paragraph, 1 + max(0, first.indent - base_indent) // 4)
        elif CAPTION.match(first.text) and is_caption(join_rows(paragraph)):
            yield TextPart("caption", paragraph)
        else:
            yield TextPart("paragraph", paragraph)


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a text.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    del options
    text, notes = decode_text(content)
    blocks = tuple(text_blocks(text))
    title = opening_heading(blocks) if blocks and blocks[0].kind == "heading" else ""
    return ParsedDocument(blocks, title, notes)
