"""Structure of a text without blocks: headings, list items, table rows and code, as spans of the text itself.

The text of a row of JSON lines or of prepared data is kept as it is, marks included, so that offsets in it stay valid.
Headings are those of Markdown and lines in capitals; in texts without marks of Markdown also lines with a section
number, or short and without a full stop above a paragraph. Files have formats of their own, see `documents.formats`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sumpool.documents.document import TextBlockKind
from sumpool.documents.plain_text.marks import list_letters, list_mark

_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_HASHES = re.compile(r"\s{0,3}(#{1,6})\s+\S")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-+|~+|\*+)\s*$")
_ROW = re.compile(r"\s{0,8}\|.*\|?\s*$")
_NUMBERED = re.compile(
    r"(?:(?:chapter|section|part|appendix|annex)\s+)?(\d{1,3}(?:\.\d{1,3}){0,5}|[A-Z](?:\.\d{1,3}){1,4})\.?\s", re.I
)
_CODE_MARKS = re.compile(r"[{}();=<>|&$\\_@/#\[\]*%+~^\"]|\s{3,}|--")
_MAX_ITEM_INDENT = 12
_STOPS = ".!?:;,\u3002\uff01\uff1f\uff1a\uff0c"
_MAX_HEADING_WORDS, _MAX_HEADING = 12, 90
_MAX_CAPITAL_WORDS = 8
_MIN_MARKED = 2
"""Headings with the mark of Markdown from which on no others count but those in capitals."""
_MIN_PARAGRAPH = 75
"""Characters of a paragraph that a short line is the heading of."""
_MAX_CODE_SHARE = 0.07
"""Marks of programs per character of an indented or a broken text that is no code."""


@dataclass(frozen=True)
class TextSpan:
    """Part of a text.

    Attributes:
        start: Start in the text, in characters.
        end: End in the text, in characters.
        kind: Kind of the part.
        level: Depth of a heading, from 1; 0 for other kinds.
    """

    start: int
    end: int
    kind: TextBlockKind = "paragraph"
    level: int = 0


@dataclass(frozen=True)
class _Line:
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def text_spans(text: str) -> list[TextSpan]:
    """Divide a text into headings, paragraphs, list items, table rows and code.

    Returns:
        The spans in order; together they hold every visible character of the text.
    """
    letters = list_letters(text.split("\n"))
    spans = [span for group in _groups(text) for span in _group_spans(group, letters)]
    is_markdown = sum(span.kind == "heading" and text[span.start] == "#" for span in spans) >= _MIN_MARKED
    return spans if is_markdown else _with_short_headings(text, spans)


def _groups(text: str) -> Iterator[list[_Line]]:
    """Yield the lines between empty lines; a fenced block is one group."""
    group: list[_Line] = []
    fence, start = "", 0
    for content in text.split("\n"):
        line, start = _Line(start, content), start + len(content) + 1
        mark = _FENCE.match(content)
        if fence:
            group.append(line)
            if mark and mark[1].startswith(fence) and not content.strip(" `~"):
                yield group
                group, fence = [], ""
        elif mark:
            if group:
                yield group
            group, fence = [line], mark[1]
        elif content.strip():
            group.append(line)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _group_spans(group: Sequence[_Line], letters: frozenset[str]) -> Iterator[TextSpan]:
    if _FENCE.match(group[0].text) or _is_code(group, letters):
        yield TextSpan(group[0].start, group[-1].end, "code")
        return
    open_span: TextSpan | None = None
    for index, line in enumerate(group):
        kind, level = _line_kind(group, index, letters)
        is_new = kind != "paragraph" or open_span is None or open_span.kind in ("heading", "table_row")
        if open_span is not None and not is_new:
            open_span = replace(open_span, end=line.end)
            continue
        if open_span is not None:
            yield open_span
        open_span = TextSpan(line.start, line.end, kind, level)
    if open_span is not None:
        yield open_span


def _line_kind(group: Sequence[_Line], index: int, letters: frozenset[str]) -> tuple[TextBlockKind, int]:
    """Return the kind of a line, and its level if it is a heading; "paragraph" if it may continue the one before."""
    text = group[index].text
    if mark := _HASHES.match(text):
        return "heading", len(mark[1])
    if index == 0 and len(group) > 1 and _UNDERLINE.match(group[1].text) and _is_short(text):
        return "heading", 1 if "=" in group[1].text else 2
    if index == 1 and _UNDERLINE.match(text) and len(group[0].text.strip()) > 2 and _is_short(group[0].text):
        return "paragraph" if len(text.strip()) < 2 else "heading", 1 if "=" in text else 2
    if _ROW.match(text):
        return "table_row", 0
    if (index == 0 or _HASHES.match(group[index - 1].text)) and _is_capitals(text):
        return "heading", 1
    if _is_item(text, letters) and (index == 0 or not text.lstrip().startswith("o ")):
        return "list_item", 0
    return "paragraph", 0


def _with_short_headings(text: str, spans: list[TextSpan]) -> list[TextSpan]:
    """Turn numbered lines and short lines without a full stop above a paragraph into headings."""
    marked: list[TextSpan] = []
    for index, span in enumerate(spans):
        content = text[span.start : span.end]
        following = spans[index + 1] if index + 1 < len(spans) else None
        if span.kind in ("paragraph", "list_item") and "\n" not in content and following is not None:
            number = _NUMBERED.match(content.lstrip())
            is_above = following.kind != "heading" and following.end - following.start >= _MIN_PARAGRAPH
            if number and _is_short(content) and (following.kind == "paragraph" or "." in number[1]):
                span = replace(span, kind="heading", level=min(1 + number[1].count("."), 6))
            elif span.kind == "paragraph" and is_above and _is_short(content) and content.lstrip()[0].isupper():
                span = replace(span, kind="heading", level=2)
        marked.append(span)
    return marked


def _is_short(text: str) -> bool:
    """Return whether a line may be a heading: few words, with letters, and no punctuation at the end."""
    text = text.strip()
    is_short = len(text.split()) <= _MAX_HEADING_WORDS and len(text) <= _MAX_HEADING
    return is_short and text[-1:] not in _STOPS and any(map(str.isalpha, text))


def _is_item(text: str, letters: frozenset[str]) -> bool:
    return len(text) - len(text.lstrip()) <= _MAX_ITEM_INDENT and list_mark(text.lstrip(), letters) > 0


def _is_capitals(text: str) -> bool:
    return text.isupper() and len(text.split()) <= _MAX_CAPITAL_WORDS and text.rstrip()[-1] not in _STOPS


def _is_code(group: Sequence[_Line], letters: frozenset[str]) -> bool:
    """Return whether lines are code or a drawing: indented or broken, with many marks of programs."""
    is_indented = all(line.text.startswith(("    ", "\t")) for line in group)
    if not is_indented and len(group) == 1:
        return False
    if _UNDERLINE.match(group[-1].text) or any(
        _is_item(line.text, letters) or _HASHES.match(line.text) or _ROW.match(line.text) for line in group
    ):
        return False
    characters = sum(len(line.text.strip()) for line in group)
    marks = sum(len(_CODE_MARKS.findall(line.text.strip())) for line in group)
    return marks > _MAX_CODE_SHARE * characters
