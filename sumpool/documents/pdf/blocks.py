"""Blocks of PDF files: the text and level of each group of lines."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sumpool.documents.document import TextBlock
from sumpool.documents.pdf.headings import heading_levels, heading_style, opens_text, squeeze
from sumpool.documents.pdf.layout import PrintedLine
from sumpool.documents.pdf.paragraphs import Group
from sumpool.documents.pdf.words import Vocabulary

_MONO_WIDTH: Final = 0.525  # of a character of a monospaced font, in font sizes
_MAX_FRONT: Final = 60  # blocks before the abstract
_MAX_AUTHORS: Final = 60  # words of a block of authors
_MAX_HEADING_LINES: Final = 3
_MAX_TITLE_GROUPS: Final = 4  # groups that may be one title
_DEEPEST_INDENT: Final = 40  # characters
_NOTICE = re.compile(
    r"^\W*(copyright\b|©|\(c\) (19|20)\d\d|isbn\b|issn\b|arxiv:|doi:|https?://\S+$|permission (is|to) "
    r"|all rights reserved|licensed under|this work is licensed|\S+@\S+$)",
    re.IGNORECASE,
)


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
