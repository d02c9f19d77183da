"""Blocks of a PDF file: paragraphs, headings and other groups of lines, with the words that line ends divide."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sumpool.documents.document import TextBlock, TextBlockKind
from sumpool.documents.pdf.headings import (
    heading_levels,
    heading_style,
    is_heading,
    numbering_level,
    opens_text,
    squeeze,
)
from sumpool.documents.pdf.kinds import BULLET, ENUMERATOR, Body, LineKind, starts_note
from sumpool.documents.pdf.layout import PrintedLine
from sumpool.documents.sections import CAPTION

_WORDS = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_LINE_END = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)(-|\u00ad)$")
_LINE_START = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_OPEN_END = re.compile(r"\w[-/\u2013\u2014]$")
_ADDRESS_END = re.compile(r"://\S*[/.?=&_-]$")
_SOFT: Final = "\u00ad"
_TAIL: Final = 100  # characters at the end of a text that hold its last word
_SHORTEST: Final = 3  # letters of the parts of a word whose hyphen may be its own
_SAMPLE: Final = 40_000  # characters of a document
_LATIN = re.compile(r"(?<!\S)[^\s\u0370-\uffff]*[A-Za-z]{2}[^\s\u0370-\uffff]*(?!\S)")
_CASED = re.compile(
    r"[\W\d_]*(?:[A-Z\u00c0-\u00de]?[a-z\u00df-\u024f]+|[A-Z\u00c0-\u00de]+)(?:[-/'\u2019]\w+)*[\W\d_]*"
)
"""Word of a Latin script with its case."""
_LONG: Final = 5  # characters of a word that is unlikely to be cased by chance
_FEW: Final = 100  # long words of a text that can be judged
_SCRAMBLED: Final = 0.25  # share of long words that are cased; prose has .9, code .6
_MANY_SYMBOLS: Final = 0.4  # share of the characters; prose and code have below .01

_INDENT: Final = 0.7  # font sizes
_MAX_INDENT: Final = 6.0
_SMALL_PRINT: Final = 0.94  # largest size of what stands below a text, in its sizes
_NEIGHBOURS: Final = 4  # lines that show where a paragraph's right edge is

_SENTENCE_END = re.compile(r"[.!?:…。\uff01\uff1f][)\]”\"'\u2019»*]*$")
_RUN_IN = re.compile(r"[^\W\d_]{3}")
"""Letters of bold words that begin a paragraph, such as "DATES:"."""
_KINDS: dict[LineKind, TextBlockKind] = {
    LineKind.CODE: "code",
    LineKind.FORMULA: "code",
    LineKind.ROW: "table_row",
    LineKind.CONTENTS: "notice",
}
_MONO_WIDTH: Final = 0.525  # of a character of a monospaced font, in font sizes
_MAX_FRONT: Final = 60  # blocks before the abstract
_MAX_AUTHORS: Final = 60  # words of a block of authors
_MAX_HEADING_LINES: Final = 3
_MAX_TITLE_GROUPS: Final = 4  # groups that may be one title
_DEEPEST_INDENT: Final = 40  # characters
_NOTICE = re.compile(
    r"^\W*(copyright\b|©|\(c\) (19|20)\d\d|isbn\b|issn\b|arxiv:|doi:|https?://\S+$|permission (is|to) "
    r"|all rights reserved|licensed under|this work is licensed)|^\W*+\S[^\s@]*@\S+$",
    re.IGNORECASE,
)


class Vocabulary:
    """Words of a document, which say whether a hyphen at the end of a line belongs to the word.

    Attributes:
        counts: How often each word stands within a line, in lower case.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Count the words of lines, without those that a line break divides."""
        self.counts: Counter[str] = Counter()
        divided = False
        for line in lines:
            words = _WORDS.findall(line.replace(_SOFT, "").lower())[divided:]
            divided = line.endswith(("-", _SOFT))
            if divided:
                words = words[:-1]
            for word in words:
                self.counts[word] += 1
                if "-" in word:
                    self.counts.update(word.split("-"))

    def join(self, lines: Sequence[str]) -> str:
        """Join the lines of a paragraph by spaces, and the words that they divide."""
        text = ""
        for line in lines:
            line = line.strip()
            match = _LINE_END.search(text[-_TAIL:])
            if match and line:
                text = self._join_word(text, match, line)
            elif text.endswith((_SOFT, "/-")):
                text = text[:-1] + line
            else:
                text += line if not text or not line or _is_glued(text, line) else f" {line}"
        return text.replace(_SOFT, "")

    def _join_word(self, text: str, end: re.Match[str], line: str) -> str:
        start = _LINE_START.match(line)
        if end[2] == _SOFT:
            return text[:-1] + line
        if start is None:
            return text + line if line[0].isdigit() else f"{text} {line}"
        first, second = end[1].lower(), start[0].lower()
        if second in ("and", "or", "und", "oder", "et", "y", "bis", "to") and not self.counts[first + second]:
            return f"{text} {line}"
        return text + line if self._has_hyphen(first, second, start[0]) else text[:-1] + line

    def _has_hyphen(self, first: str, second: str, second_as_written: str) -> bool:
        """Return whether two parts of a word are joined by a hyphen of its own."""
        joined, hyphenated = self.counts[first + second], self.counts[f"{first}-{second}"]
        if joined or hyphenated:
            return hyphenated > joined
        if second_as_written[0].isupper():
            return not second_as_written.isupper() or len(first) < _SHORTEST
        last, following = first.rsplit("-", 1)[-1], second.split("-", 1)[0]
        if len(last) < 2 or len(following) < 2:
            return True
        return min(len(last), len(following)) >= _SHORTEST and bool(self.counts[last] and self.counts[following])


def _is_glued(text: str, line: str) -> bool:
    """Return whether a line continues a number, an address or a script without spaces."""
    if _is_wide(text[-1]) and _is_wide(line[0]):
        return True
    if text.endswith(".") and line[0].isupper():
        return False
    return bool((_OPEN_END.search(text[-_TAIL:]) and line[0].isalnum()) or _ADDRESS_END.search(text[-_TAIL:]))


def _is_wide(character: str) -> bool:
    """Return whether a character belongs to a script without spaces between words."""
    return "\u3000" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef"


def is_scrambled(text: str) -> bool:
    """Return whether a text has symbols or random letters for words, as fonts without Unicode values give."""
    sample = text[:_SAMPLE]
    symbols = sum(unicodedata.category(character) == "So" for character in sample)  # such as dingbats
    if symbols > _MANY_SYMBOLS * len("".join(sample.split())) and symbols >= _FEW:
        return True
    words = [word for word in _LATIN.findall(sample) if len(word) >= _LONG]
    return len(words) >= _FEW and sum(map(bool, map(_CASED.fullmatch, words))) < _SCRAMBLED * len(words)


@dataclass(slots=True)
class Group:
    """Lines of one block.

    Attributes:
        kind: Kind of the block.
        lines: Lines.
        note: Whether the block is a note below the text of its page.
        marker: Characters of the first line that mark a list item.
    """

    kind: TextBlockKind
    lines: list[PrintedLine] = field(default_factory=list)
    note: bool = False
    marker: int = 0


def group_lines(lines: Sequence[PrintedLine], kinds: Sequence[LineKind], body: Body) -> list[Group]:
    """Group lines to blocks; paragraphs that a page or column break interrupts are joined."""
    groups: list[Group] = []
    for number, (line, kind) in enumerate(zip(lines, kinds, strict=True)):
        previous = number - 1 if number and _same_column(lines[number - 1], line) else None
        continues = previous is not None and _is_same_flow(kinds[previous], kind)
        if continues and _continues(groups[-1], lines, number, kind, body):
            groups[-1].lines.append(line)
        elif kind in _KINDS:
            groups.append(Group(_KINDS[kind], [line]))
        else:
            groups.append(_start(lines, number, kind, body))
    return _join_across_breaks(groups, body)


def _is_same_flow(before: LineKind, kind: LineKind) -> bool:
    return before is kind or (before is LineKind.DEFINITION and kind is LineKind.TEXT)


def _same_column(line: PrintedLine, following: PrintedLine) -> bool:
    return (line.page, line.column) == (following.page, following.column)


def _start(lines: Sequence[PrintedLine], number: int, kind: LineKind, body: Body) -> Group:
    """Start a group with a line of text or of a note."""
    line = lines[number]
    if kind is LineKind.NOTE:
        return Group("paragraph", [line], note=True)
    following = lines[number + 1] if number + 1 < len(lines) and _same_column(line, lines[number + 1]) else None
    if _is_caption(line, body):
        return Group("caption", [line])
    if is_heading(line, body, _is_free(lines, number, following, body)):
        return Group("heading", [line])
    marker = BULLET.match(line.text) or ENUMERATOR.match(line.text)
    if marker:
        return Group("list_item", [line], marker=marker.end())
    return Group("list_item" if kind is LineKind.DEFINITION else "paragraph", [line])


def _is_caption(line: PrintedLine, body: Body) -> bool:
    match = CAPTION.match(line.text)
    if match is None:
        return False
    styled = line.size <= 0.96 * body.size or line.share("bold") > 0.05 or line.share("italic") > 0.05
    return match["mark"].strip() != "" or styled


def _is_free(lines: Sequence[PrintedLine], number: int, following: PrintedLine | None, body: Body) -> bool:
    """Return whether a line is a paragraph of its own, by the space around it or the style of the next line."""
    line = lines[number]
    before = lines[number - 1] if number and _same_column(lines[number - 1], line) else None
    gap = body.widest(line, body.size)
    above = before is None or line.y - before.y > gap or _SENTENCE_END.search(before.text) is not None
    if following is None:
        return above
    below = following.y - line.y > gap
    restyled = abs(line.share("bold") - following.share("bold")) > 0.6 or abs(line.size - following.size) > 0.4
    restyled = restyled or abs(line.share("italic") - following.share("italic")) > 0.6
    return above and (below or restyled or _is_short(lines, number))


def _is_short(lines: Sequence[PrintedLine], number: int) -> bool:
    """Return whether the first word of the next line would have fitted on a line."""
    line = lines[number]
    if number + 1 >= len(lines):
        return False
    following = lines[number + 1]
    near = [
        other
        for other in lines[max(number - _NEIGHBOURS, 0) : number + _NEIGHBOURS + 1]
        if _same_column(line, other) and abs(other.size - line.size) <= 0.1 * line.size
    ]
    right = max(other.x1 for other in near)
    if not _same_column(line, following):
        right = max(right, line.right - 0.02 * (line.right - line.left))
    word = following.text.split(" ", 1)[0]
    width = (following.x1 - following.x0) * len(word) / max(len(following.text), 1)
    return right - line.x1 > width + 0.35 * line.size


def _continues(group: Group, lines: Sequence[PrintedLine], number: int, kind: LineKind, body: Body) -> bool:
    """Return whether a line continues the block of the line before it in the same column and of the same kind."""
    line, before = lines[number], lines[number - 1]
    gap = line.y - before.y
    if kind in (LineKind.CONTENTS, LineKind.ROW, LineKind.DEFINITION):
        return False
    if kind in (LineKind.CODE, LineKind.FORMULA):
        return gap <= 2.5 * body.leading * body.size
    if group.kind == "heading":
        same = abs(line.size - before.size) <= 0.4 and abs(line.share("bold") - before.share("bold")) < 0.5
        return same and gap <= 1.6 * line.size and is_heading(line, body, True) and not numbering_level(line.text)
    if abs(line.size - before.size) > 0.08 * max(line.size, before.size) + 0.2 and not _is_fragment(before, line):
        return False
    if gap > body.widest(line, max(line.size, before.size)):
        return False
    if kind is LineKind.NOTE and starts_note(line):
        return False
    if _is_item(line) and (group.kind == "list_item" or _is_short(lines, number - 1) or _ends_sentence(before)):
        return False
    if _ends_sentence(before) and (_is_run_in(line.segments[0].lead) or _is_bold_heading(lines, number, body)):
        return False
    return not _is_new_paragraph(group, lines, number)


def _is_fragment(before: PrintedLine, line: PrintedLine) -> bool:
    return min(len(before.text), len(line.text)) <= 3


def _is_run_in(lead: str) -> bool:
    return lead.endswith((".", ":", "\u2014")) and bool(_RUN_IN.search(lead, 0, len(lead) - 1))


def _is_item(line: PrintedLine) -> bool:
    return bool(BULLET.match(line.text) or ENUMERATOR.match(line.text))


def _ends_sentence(line: PrintedLine) -> bool:
    return bool(_SENTENCE_END.search(line.text))


def _is_bold_heading(lines: Sequence[PrintedLine], number: int, body: Body) -> bool:
    """Return whether a line below a paragraph, without space between them, is a bold heading."""
    line = lines[number]
    if line.share("bold") < 0.9 or lines[number - 1].share("bold") > 0.5:
        return False
    following = lines[number + 1] if number + 1 < len(lines) and _same_column(line, lines[number + 1]) else None
    return is_heading(line, body, _is_free(lines, number, following, body))


def _is_new_paragraph(group: Group, lines: Sequence[PrintedLine], number: int) -> bool:
    """Return whether indentation or the end of the line before show that a paragraph starts."""
    line, before, size = lines[number], lines[number - 1], lines[number].size
    shift = line.x0 - before.x0
    short = _is_short(lines, number - 1)
    ended = _ends_sentence(before)
    if _INDENT * size <= shift <= _MAX_INDENT * size:
        if group.kind == "list_item" or group.note:
            return len(group.lines) > 1 and (short or ended)
        return short or ended
    if shift <= -_INDENT * size:
        hanging = len(group.lines) > 1 and group.lines[-1].x0 - group.lines[0].x0 > -0.2 * size
        outdented = line.x0 < group.lines[0].x0 - _INDENT * size
        back = len(group.lines) > 1 and group.lines[1].x0 - _INDENT * size > max(group.lines[0].x0, line.x0)
        if group.kind in ("list_item", "caption") or group.note:
            return back or (outdented and (len(group.lines) > 1 or short or ended))
        return short or (hanging and (ended or not outdented))
    return short and (ended or not line.text[:1].islower())


def _join_across_breaks(groups: Sequence[Group], body: Body) -> list[Group]:
    """Join paragraphs that a page, a column or a float interrupts, and put notes behind the text of their page."""
    ordered: list[Group] = []
    notes: list[Group] = []
    last: Group | None = None
    for group in groups:
        if notes and group.lines[0].page != notes[-1].lines[-1].page and not (last and _is_open(last, group, body)):
            ordered += notes
            notes = []
        if group.note:
            notes.append(group)
        elif last and group.kind == "paragraph" and _is_open(last, group, body):
            last.lines += group.lines
        else:
            ordered.append(group)
            if group.kind in ("paragraph", "list_item"):
                last = last if last and _is_small_print(last, group) else group
            elif group.kind in ("heading", "code"):
                last = None
    return [*ordered, *notes]


def _is_small_print(last: Group, group: Group) -> bool:
    """Return whether a group stands in small print below a paragraph that goes on in the next column."""
    end, start = last.lines[-1], group.lines[0]
    return _same_column(end, start) and start.size < _SMALL_PRINT * end.size and not _ends_sentence(end)


def _is_open(last: Group, group: Group, body: Body) -> bool:
    """Return whether a paragraph goes on in a group on the next page or in the next column."""
    if group.kind != "paragraph" or group.note:
        return False
    end, start = last.lines[-1], group.lines[0]
    if _same_column(end, start) or start.page - end.page > 2 or abs(end.size - start.size) > 0.5:
        return False
    if _OPEN_END.search(end.text):
        return True
    return not _ends_sentence(end) and (start.text[:1].islower() or not end.x1 < end.right - 3 * body.size)


def compose_blocks(groups: list[Group], lines: Sequence[PrintedLine], title: str) -> Iterator[TextBlock]:
    """Yield the blocks of a document.

    Args:
        groups: Groups of lines in reading order.
        lines: All lines of the document, whose words say which hyphens at line ends are part of a word.
        title: Title of the document; empty if it has none.
    """
    groups = _join_title(groups, title)
    _mark_authors(groups, title)
    vocabulary = Vocabulary(line.text for line in lines)
    for group in groups:
        if group.kind == "heading" and _is_prose(group):
            group.kind = "paragraph"
    headings = [group for group in groups if group.kind == "heading"]
    names = [vocabulary.join([line.text for line in group.lines]) for group in headings]
    styles = [heading_style(group.lines[0]) for group in headings]
    levels = iter(heading_levels(list(zip(names, styles, strict=True))))
    for group in groups:
        page = group.lines[0].page
        if group.kind == "code":
            yield TextBlock(_code(group.lines), "code", page=page)
            continue
        text = " ".join(vocabulary.join([line.text for line in group.lines])[group.marker :].split())
        if group.kind == "heading":
            yield TextBlock(text, "heading", next(levels), page)
        elif group.kind == "list_item":
            yield TextBlock(text, "list_item", 1, page)
        elif group.kind == "paragraph" and _NOTICE.search(text):
            yield TextBlock(text, "notice", page=page)
        else:
            yield TextBlock(text, group.kind, page=page)


def _is_prose(group: Group) -> bool:
    """Return whether lines in the style of a heading are a paragraph, such as a bold abstract."""
    return len(group.lines) > _MAX_HEADING_LINES and group.lines[-1].text.endswith(".")


def _join_title(groups: list[Group], title: str) -> list[Group]:
    """Make the groups that together are the title one heading."""
    wanted = squeeze(title)
    names = [squeeze(" ".join(line.text for line in group.lines)) for group in groups[:_MAX_FRONT]]
    for start, name in enumerate(names):
        for end in range(start + 1, start + 1 + _MAX_TITLE_GROUPS):
            if wanted and name and "".join(names[start:end]) == wanted:
                joined = Group("heading", [line for group in groups[start:end] for line in group.lines])
                return [*groups[:start], joined, *groups[end:]]
    return groups


def _mark_authors(groups: Sequence[Group], title: str) -> None:
    """Turn what stands between the title and the abstract of a paper into notices."""
    front = [number for number, group in enumerate(groups[:_MAX_FRONT]) if group.lines[0].page == 1]
    openings = (n for n in front if opens_text(groups[n].lines[0].text, groups[n].kind == "heading"))
    opening = next(openings, 0)
    largest = max(range(opening), key=lambda number: (groups[number].lines[0].size, -number), default=0)
    names = [squeeze(" ".join(line.text for line in group.lines)) for group in groups[:opening]]
    heading = next((number for number, name in enumerate(names) if name and name == squeeze(title)), largest)
    for number, group in enumerate(groups[:opening]):
        words = sum(len(line.text.split()) for line in group.lines)
        if number != heading and group.kind != "caption" and words <= _MAX_AUTHORS:
            group.kind = "notice"


def _code(lines: Sequence[PrintedLine]) -> str:
    """Return code with its lines and their indentation."""
    left = min(line.x0 for line in lines)
    indents = (round((line.x0 - left) / (_MONO_WIDTH * line.size or 1)) for line in lines)
    texts = (" " * min(indent, _DEEPEST_INDENT) + line.text for indent, line in zip(indents, lines, strict=True))
    return "\n".join(texts)
