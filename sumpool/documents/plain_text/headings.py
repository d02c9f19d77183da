"""Headings of plain text: underlined, numbered, in capitals, or short lines above a paragraph."""

import re
from collections.abc import Iterator, Sequence

from sumpool.documents.plain_text.drawings import is_rule
from sumpool.documents.plain_text.lines import TextRow, is_fenced, join_rows
from sumpool.documents.plain_text.shapes import is_table

_UNDERLINE = re.compile(r"([=\-~^*#\"'`+_:.])\1{2,}$")
_STARS, _HASHES = re.compile(r"(\*{1,6}) +(?=\S)"), re.compile(r"(#{1,6})[ \t]+(?=\S)")
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


Heading = tuple[list[TextRow], int]
"""Lines of a heading, without rules, and its level."""


class Headings:
    """Headings of a document's lines.

    Attributes:
        groups: Lines between empty lines.
        base_indent: Indentation of most paragraphs.
    """

    def __init__(self, groups: Sequence[list[TextRow]], *, is_outline: bool = False) -> None:
        """Take the lines of a document; `is_outline` tells that stars mark headings, as in an outline of Emacs."""
        self.groups, self.base_indent = groups, _base_indent(groups)
        self.mark = _STARS if is_outline else _HASHES
        self.rules: list[str] = []
        marked = sum(self._marked(group, index) > 0 for group in groups for index in range(len(group)))
        self.is_marked = not is_outline and marked >= _MIN_MARKED

    def split(self, index: int) -> Iterator[tuple[Heading | None, list[TextRow]]]:
        """Yield the headings of a group, each with the lines below it; None above the first."""
        group = self.groups[index]
        if is_fenced(group):
            yield None, group
            return
        heading: Heading | None = None
        rows: list[TextRow] = []
        position = 0
        while position < len(group):
            level = self._marked(group, position)
            size = 1 if level else self._underlined(group, position)
            if size:
                if heading or rows:
                    yield heading, rows
                titles = [row for row in group[position : position + size] if not is_rule(row.text)]
                titles = [row._replace(mark=self._mark_length(row) if level else 0) for row in titles]
                heading, rows = (titles, level or self._rule_level(group[position + size - 1].text[0])), []
                position += size
            else:
                rows.append(group[position])
                position += 1
        if heading is None and len(rows) > 1 and _is_capitals(rows[0]) and _goes_below(rows[1]):
            yield (rows[:1], 1), rows[1:]
        elif heading is None and (level := self._level(index)):
            yield ([row._replace(mark=0) for row in rows], level), []
        else:
            yield heading, rows

    def _marked(self, group: Sequence[TextRow], position: int) -> int:
        """Return the level of a line with the mark of a heading; 0 if it has none, or is one of several comments."""
        row = group[position]
        mark = None if row.indent else self.mark.match(row.text)
        if not mark or is_rule(row.text) or is_fenced(group):
            return 0
        level = len(mark[1])
        if self.mark is _STARS:
            return level
        before = _hashes(group[position - 1]) if position else level + 1
        after = _hashes(group[position + 1]) if position + 1 < len(group) else 0
        is_alone = level not in (before, after) and (level > 1 or before > 0)
        return level if is_alone and row.text[-1] != "." else 0

    def _mark_length(self, row: TextRow) -> int:
        mark = self.mark.match(row.text)
        return mark.end() if mark else 0

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
        return (
            start + 2 - position
            if above and fits and _UNDERLINE.fullmatch(rule.text) and _is_title(title) and not _has_columns(title)
            else 0
        )

    def _rule_level(self, rule: str) -> int:
        if rule not in self.rules:
            self.rules.append(rule)
        return 1 + self.rules.index(rule)

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
        if any(_has_columns(row) or is_rule(row.text) for row in group):
            return 0
        if self.is_marked and not _is_capitals(row):
            return 0
        is_stopped = row.text[-1] in _STOPS or group[-1].text[-1] in _STOPS
        if index == 0 and len(join_rows(group).split()) <= _MAX_WORDS and not is_stopped:
            return 1
        if numbered:
            return self._numbered_level(index, numbered["number"])
        if _is_capitals(row):
            return 1
        return 2 if self._is_short_heading(row, following) else 0

    def _numbered_level(self, index: int, number: str) -> int:
        """Return the level of a numbered line; 0 if it is an item of a list, whose neighbours are numbered, too."""
        row, following = self.groups[index][0], self.groups[index + 1]
        depth = _depth(number)
        sibling = _NUMBERED.match(following[0].text)
        is_item = row.indent > self.base_indent + 2 or (
            sibling is not None and depth == 1 == _depth(sibling["number"]) and following[0].indent >= row.indent
        )
        row = self.groups[index][-1]
        stopped = row.text[-1] in _STOPS and not (row.text[-1] == "." and len(row.text.split()) <= _MAX_STOPPED_WORDS)
        return 0 if is_item or stopped else min(depth, 6)

    def _is_short_heading(self, row: TextRow, following: Sequence[TextRow]) -> bool:
        text = row.text
        if row.indent > self.base_indent and row.indent < 12:
            return False
        if len(text.split()) > _MAX_SHORT_WORDS or len(text) > _MAX_SHORT_LENGTH or text[0].islower() or row.mark:
            return False
        if not text[0].isalpha() or text[-1] in _STOPS:
            return False
        return len(following) > 1 or len(following[0].text) > len(text) + 10 or following[0].indent > row.indent


def _depth(number: str) -> int:
    """Return the depth of the number of a section: 2 for "3.1."."""
    return len(re.findall(r"[^\W_]+", number)) if " " not in number else 1


def _hashes(row: TextRow) -> int:
    return len(row.text) - len(row.text.lstrip("#"))


def _base_indent(groups: Sequence[Sequence[TextRow]]) -> int:
    """Return the most frequent indentation of lines in groups that are more than two lines long."""
    counts: dict[int, int] = {}
    for group in groups:
        for row in group if len(group) > 2 else ():
            counts[row.indent] = counts.get(row.indent, 0) + 1
    return max(counts, key=lambda indent: (counts[indent], -indent), default=0)


def _is_title(row: TextRow) -> bool:
    return len(row.text) <= _MAX_LENGTH and any(map(str.isalpha, row.text)) and not _HASHES.match(row.text)


def _is_capitals(row: TextRow) -> bool:
    text = row.text
    if not text.isupper() or text[-1] in _STOPS or len(text.split()) > _MAX_CAPITAL_WORDS:
        return False
    letters = sum(map(str.isalpha, text))
    return letters >= 3 and 2 * letters > len(text)


def _goes_below(row: TextRow) -> bool:
    """Return whether a line below one in capitals is text, not the rest of a heading."""
    return row.text[0].isalpha() and not row.text.isupper()


def _has_columns(row: TextRow) -> bool:
    return is_table([row, row])
