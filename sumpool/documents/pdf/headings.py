"""Headings and the title of PDF files, by size, weight and numbering."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from sumpool.documents.pdf.kinds import CONTENTS_HEADING, Body
from sumpool.documents.pdf.layout import PrintedLine
from sumpool.documents.sections import CAPTION

_LARGE: Final = 1.09  # size of a heading, in sizes of the text
_LARGE_TITLE: Final = 1.15  # size of a title, in sizes of the text
_MOST: Final = 0.7  # of the characters of a heading
_MAX_LENGTH: Final = 160  # characters
_MAX_LINES: Final = 8
_DEEPEST: Final = 6

_NUMBER = re.compile(
    r"(?:(?:chapter|section|appendix|part|kapitel|chapitre|глава)\s+)?(\d{1,2}(?:\.\d{1,2})*)\.?\s+\S", re.I
)
_LETTER_NUMBER = re.compile(r"([A-Z](?:\.\d{1,2})+)\.?\s+\S")
_ROMAN = re.compile(r"[IVX]{1,5}\.\s+\S")
_LETTER = re.compile(r"[A-Z]\.\s+\S")
_DIGITS = re.compile(r"\d+")
_OPENING_WORDS: Final = (
    "abstract|summary|introduction|zusammenfassung|einleitung|kurzfassung|résumé|introducción|resumen"
    "|аннотация|введение|摘要"
)
_OPENING = re.compile(rf"(\d\.?|I\.)?\s*({_OPENING_WORDS})(?P<end>\s?[.:\u2014\u2013-])?", re.IGNORECASE)
_KEYWORD = re.compile(
    rf"({_OPENING_WORDS}|references|bibliography|acknowledge?ments?|appendix( [A-Z])?|conclusions?"
    r"|literatur(verzeichnis)?|anhang|références|bibliographie|referencias|литература|список литературы|заключение"
    r"|参考文献)[.:—\u2013-]?",
    re.IGNORECASE,
)
_BAD_TITLE = re.compile(
    r"untitled|^microsoft word|\.(dvi|tex|docx?|odt|pdf|ps|fm|indd|qxd|html?|txt|rtf)$|[\\/]|^\W*$|^doc\d", re.I
)


class HeadingStyle(NamedTuple):
    """Look of headings on one level."""

    size: float
    bold: bool
    italic: bool


def opens_text(text: str, is_heading: bool) -> bool:
    """Return whether a block opens the text of a paper, behind its title and authors.

    Args:
        text: First line of the block.
        is_heading: Whether the block is a heading; a paragraph opens the text by a word such as "Abstract\u2014".
    """
    match = _OPENING.match(text)
    return match is not None and (match.end() == len(text) if is_heading else match["end"] is not None)


def heading_style(line: PrintedLine) -> HeadingStyle:
    """Return the look of a line."""
    return HeadingStyle(round(line.size * 2) / 2, line.share("bold") >= _MOST, line.share("italic") >= _MOST)


def is_heading(line: PrintedLine, body: Body, free: bool) -> bool:
    """Return whether a line that starts a paragraph is a heading.

    Args:
        line: The line.
        body: Measures of the running text.
        free: Whether the next line does not continue the line, by its place or style.
    """
    text = line.text
    letters = sum(character.isalpha() for character in text)
    if letters < 2 or letters < 0.35 * len(text) or len(text) > _MAX_LENGTH or CAPTION.match(text):
        return False
    if line.share("math") > 0.5 or (line.share("mono") > 0.5 and not body.mono and line.size < _LARGE * body.size):
        return False
    style = heading_style(line)
    if _KEYWORD.fullmatch(text) and free:
        return True
    if line.size >= _LARGE * body.size and not body.is_running(line) and not text.endswith((",", ";")):
        return True
    if not free or line.size < 0.85 * body.size or text.endswith((",", ";")):
        return False
    if style.bold and not body.bold:
        return not text.endswith(".") or numbering_level(text) > 0
    return numbering_level(text) > 0 and not text.endswith(".") and (style.italic or _is_capitals(text))


def _is_capitals(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return sum(character.isupper() for character in letters) >= 0.8 * len(letters) and len(letters) >= 4


def numbering_level(text: str) -> int:
    """Return the depth of a heading's number, such as 2 for "3.1 Methods"; 0 if it has none."""
    if match := _NUMBER.match(text) or _LETTER_NUMBER.match(text):
        return min(match[1].count(".") + 1, _DEEPEST)
    if _ROMAN.match(text):
        return 1
    return 2 if _LETTER.match(text) else 0


def heading_levels(headings: Sequence[tuple[str, HeadingStyle]]) -> list[int]:
    """Return the levels of headings: by number, else as others in their style, else by the rank of their style."""
    numbers = [numbering_level(text) for text, _ in headings]
    numbered: dict[HeadingStyle, Counter[int]] = {}
    for level, (_, style) in zip(numbers, headings, strict=True):
        if level:
            numbered.setdefault(style, Counter())[level] += 1
    styles = Counter(style for _, style in headings)
    ranks = {style: rank for rank, style in enumerate(sorted(styles, reverse=True), 1)}
    levels = []
    for level, (_, style) in zip(numbers, headings, strict=True):
        if not level:
            same = numbered.get(style, Counter())
            usual = 3 * same.total() >= styles[style]
            level = same.most_common(1)[0][0] if usual else min(ranks[style], _DEEPEST)
        levels.append(level)
    return levels


def find_title(lines: Sequence[PrintedLine], body: Body, metadata: str) -> str:
    """Return the title: that of the metadata if the first page shows it, else the largest text of the first page."""
    metadata = " ".join(metadata.split())
    sane = 4 <= len(metadata) <= 250 and not _BAD_TITLE.search(metadata)
    first = [line for line in lines if line.page == lines[0].page] if lines else []
    page = squeeze(" ".join(line.text for line in first))
    if sane and squeeze(metadata) in page:
        return metadata
    issues = [squeeze(line.text) for line in first if len(_DIGITS.findall(line.text)) > 1]  # such as year and volume
    large = [
        line
        for line in first
        if line.size >= _LARGE_TITLE * body.size
        and sum(map(str.isalpha, line.text)) >= 3
        and not CONTENTS_HEADING.fullmatch(line.text)
        and not _names_periodical(line, issues)
    ]
    if large:
        largest = max(line.size for line in large)
        rows = [line for line in large if line.size >= 0.97 * largest]
        near = [rows[0]]
        for row in rows[1:_MAX_LINES]:
            if row.page == near[-1].page and row.y - near[-1].y <= 2.2 * largest:
                near.append(row)
        bold = max(near, key=lambda row: len(row.text)).share("bold") >= _MOST
        title = " ".join(row.text for row in near if (row.share("bold") >= _MOST) == bold)
        if len(title) <= 300:
            return title
    return metadata if sane else ""


def _names_periodical(line: PrintedLine, issues: Sequence[str]) -> bool:
    """Return whether an issue of a periodical begins its numbers behind the text of a line."""
    name = re.compile(re.escape(squeeze(line.text)) + r"\d{2,}")
    return any(map(name.search, issues))


def squeeze(text: str) -> str:
    """Return the letters and digits of a text in lower case."""
    return "".join(character for character in text.lower() if character.isalnum())
