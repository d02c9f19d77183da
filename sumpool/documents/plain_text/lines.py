"""Lines of plain text as they are laid out: without terminal codes and page breaks, grouped at empty lines."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sumpool.documents.plain_text.pages import indentation, numbered_lines, split_pages
from sumpool.text.sentences import list_letters, list_mark

_TERMINAL_CODE = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][A-Z0-9])|\x1b")
_EDITOR_MODE = re.compile(r"-\*-(?P<mode>[^\n*]{1,200})-\*-")
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


def is_outline(text: str) -> bool:
    """Return whether the first line of a text says that lines with stars before them are headings."""
    mode = _EDITOR_MODE.search(text.split("\n", 1)[0])
    return mode is not None and re.search(r"\b(?:outline|org)\b", mode["mode"], re.IGNORECASE) is not None


def row_groups(text: str) -> list[list[TextRow]]:
    """Split a text at empty lines, without terminal codes, modes of editors, frames, overstrikes and page breaks."""
    text = _TERMINAL_CODE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _FRAME.sub(_unframed, _EDITOR_MODE.sub("", text))
    while "\b" in text:
        text, count = _OVERSTRIKE.subn("", text)
        if not count:
            text = text.replace("\b", "")
    groups: list[list[TextRow]] = []
    lines = [(number, line, line.strip()) for number, line in _lines(text)]
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


def _unframed(frame: re.Match[str]) -> str:
    """Return the lines of a frame, one by one, with an empty line for each rule."""
    return "\n" + "\n".join(line.strip()[1:-1] for line in frame[2].split("\n"))


def join_rows(rows: Iterable[TextRow]) -> str:
    """Join lines with single spaces, words broken at a hyphen and Chinese or Japanese text without a space."""
    return tidy(unwrap(row.text for row in rows))


def unwrap(lines: Iterable[str]) -> str:
    """Join lines with single spaces; no space follows a hyphen, or the dash of a range, at a line end."""
    text = " ".join(" ".join(lines).split())
    text = _BROKEN_RANGE.sub("\u2013", text) if "\u2013 " in text else text
    return _BROKEN_WORD.sub("-", text) if "- " in text else text


def tidy(text: str) -> str:
    """Remove the spaces between two Chinese or Japanese characters, where a line ended."""
    return _CJK_BREAK.sub("", text)


def right_edge(groups: Sequence[Sequence[TextRow]]) -> int:
    """Return the column where lines are wrapped: nine of ten lines that go on end before it."""
    ends = sorted(row.end for group in groups for row in group[:-1])
    return ends[len(ends) * 9 // 10] if ends else 0


def _lines(text: str) -> Iterable[tuple[int, str]]:
    if "[Page " in text or _is_printed(text):
        return numbered_lines(text)
    return enumerate(text.replace("\f", "").expandtabs().split("\n"), 1)


def _is_printed(text: str) -> bool:
    """Return whether form feeds separate printed pages, not sections."""
    if text.count("\f") < 2:
        return False
    sizes = [len(page.lines) for page in split_pages(text)]
    return 2 * sum(_MIN_PAGE_LINES <= size <= _MAX_PAGE_LINES for size in sizes) > len(sizes)
