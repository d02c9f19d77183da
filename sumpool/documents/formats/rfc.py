"""Raw RFCs: front page, sections that are no part of the body, drawings, headings and prose.

An RFC is plain text laid out for a line printer. `prepare` drops formalities, the abstract, the table of contents and
addresses, each up to the next heading; a table of contents, whose entries look like headings, up to the first
paragraph. A file that is read has the same paragraphs, and the abstract, which is the reference summary there; what
else is dropped are notices, and drawings and tables keep their lines as code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock
from sumpool.documents.formats.text import (
    has_columns,
    indentation,
    is_drawing,
    is_rule,
    lacks_punctuation,
    numbered_lines,
    reads_as_prose,
    unwrap,
)
from sumpool.documents.sections import CAPTION, PAGE_REFERENCE
from sumpool.text.sentences import list_mark

Block = list[str]
"""Consecutive non-empty lines with their indentation; at least one."""

Part = Literal["front", "dropped", "drawing", "fragment", "prose"]
"""Part of an RFC that a block belongs to: front page, dropped section, drawing or table, heading or caption, prose."""

SECTION_NUMBER: Final = re.compile(
    r"^\s*(?:(?:appendix\s+)?(?P<number>(?:[a-z]|\d+)(?:\.\d+)*)\.?|[ivx]+\.)\s+(?=\S)", re.IGNORECASE
)
_DROPPED_SECTIONS = frozenset(
    re.split(
        r",?\s*\n\s*|, ",
        """abstract
        status of this memo, status of this document, status of memo, status of this rfc, status of the memo, status
        copyright notice, copyright, full copyright statement, copyright statement, full copyright, legal notice
        intellectual property, intellectual property statement, disclaimer of validity, disclaimer
        table of contents, contents, list of figures, list of tables
        author's address, authors' addresses, author's addresses, authors' address, authors addresses
        authors address, author address, author addresses, author information, author's information, authors
        author, editor's address, editors' addresses, authors' contact information, author's contact information
        addresses of authors""",
    )
)
"""Names of removed sections: formalities, and the abstract."""
_FIELD_NAMES = frozenset(("status", "author", "authors"))
"""Names that are formal in front of the body only; behind it they head the description of a field."""
_CENTRED = 8
"""Indentation from which on lines may be centred."""
_LEGAL = re.compile(
    r"Copyright \([cC]\)|This document is subject to (?:BCP 78|the rights)"
    r"|This document and (?:the information contained|translations of it)|The limited permissions granted above"
    r"|The IETF takes no position regarding the validity|Copies of IPR disclosures"
    r"|The IETF invites any interested party|Funding for the RFC Editor function"
)


@dataclass(frozen=True)
class RfcBlock:
    """Block of an RFC.

    Attributes:
        lines: Lines with their indentation; at least one.
        number: Number of the first line in the text, from 1.
        part: Part of the RFC.
        section: Name of the dropped section that the block belongs to, in lower case; empty outside.
    """

    lines: Block
    number: int
    part: Part
    section: str = ""


def classify_blocks(text: str) -> Iterator[RfcBlock]:
    """Yield all blocks of an RFC in order, without page breaks."""
    numbers: list[int] = []
    blocks: list[Block] = []
    in_block = False
    for number, line in numbered_lines(text):
        if line and in_block:
            blocks[-1].append(line)
        elif line:
            numbers.append(number)
            blocks.append([line])
        in_block = bool(line)
    # Before the first section or paragraph are stream, number, authors, date, title.
    begins = (
        index
        for index, block in enumerate(blocks[:12])
        if opens_dropped_section(block) or SECTION_NUMBER.match(block[0]) or is_running_text(block)
    )
    start = next(begins, min(1, len(blocks)))
    sections = [""] * start + _dropped_sections(blocks[start:])
    for index, (number, block, section) in enumerate(zip(numbers, blocks, sections, strict=True)):
        if index < start:
            part: Part = "front"
        elif section:
            part = "dropped"
        elif is_drawing(block):
            part = "drawing"
        else:
            paragraph = unwrap(block)
            is_prose = (len(paragraph) >= 75 or not lacks_punctuation(paragraph)) and not _LEGAL.match(paragraph)
            part = "prose" if is_prose else "fragment"
        yield RfcBlock(block, number, part, section)


def _dropped_sections(blocks: list[Block]) -> list[str]:
    """Name the dropped section that each block belongs to, up to the next heading; empty outside.

    Entries of a table of contents look like headings; a table of contents is dropped up to the first paragraph.
    """
    sections: list[str] = []
    opening: Block | None = None
    name = ""
    in_body = is_indented = False
    for block in blocks:
        if opens_dropped_section(block) and not (in_body and _section_name(block) in _FIELD_NAMES):
            opening, name, is_indented = block, _section_name(block), True
        elif opening and _ends_section(block, opening, name, is_indented):
            opening, name = None, ""
        elif opening:
            is_indented &= indentation(block[0]) > indentation(opening[0])
        in_body = in_body or (not name and is_running_text(block))
        sections.append(name)
    return sections


def opens_dropped_section(block: Block) -> bool:
    """Return whether a block is the heading of a dropped section, or begins with one."""
    if len(block[0]) > 60:
        return False
    name = _section_name(block)
    return name in _DROPPED_SECTIONS and (_is_one_line(block) or " " in name)


def _section_name(block: Block) -> str:
    """Return the section name in a heading, in lower case and without the section number."""
    return SECTION_NUMBER.sub("", block[0], count=1).strip(" .:-=").lower().replace("\u2019", "'")


def is_running_text(block: Block) -> bool:
    """Return whether a block is running text, not a title, columns or a table of contents."""
    return not lacks_punctuation(block[-1]) and _is_paragraph(block)


def _is_paragraph(block: Block) -> bool:
    """Return whether a block is as wide as a paragraph, and neither columns nor headings nor centred lines."""
    if len(block) < 2 or max(map(len, block)) <= 50 or has_columns(block):
        return False
    if 3 * sum(bool(SECTION_NUMBER.match(line)) for line in block) > len(block):
        return False
    indents = set(map(indentation, block[1:]))
    # A block far from the margin may be prose whose lines begin in one column.
    return max(indents) < _CENTRED or (len(block) > 2 and len(indents) == 1 and reads_as_prose(block))


def _ends_section(block: Block, opening: Block, name: str, is_indented: bool) -> bool:
    """Return whether a dropped section ends before a block.

    Args:
        block: Block behind the heading.
        opening: Heading.
        name: Name of the section.
        is_indented: Whether all blocks between heading and block are indented deeper than the heading.
    """
    if "contents" in name:
        return is_running_text(block) or (len(block) > 2 and _is_paragraph(block) and reads_as_prose(block))
    line, is_one_line = block[0], _is_one_line(block)
    if indentation(line) > indentation(opening[0]):
        return False
    if is_indented and is_one_line and len(line) <= 60:
        return True
    is_heading = (len(block) <= 2 and SECTION_NUMBER.match(line)) or (is_one_line and lacks_punctuation(line))
    return bool(is_heading) and len(line) <= 100 and not PAGE_REFERENCE.search(line)


def _is_one_line(block: Block) -> bool:
    """Return whether a block is one line, underlined or not."""
    return len(block) == 1 or (len(block) == 2 and is_rule(block[1].lstrip()))


_NO_TITLE = re.compile(
    r"\b(?:19|20)\d\d\b|^(?:Request for Comments|RFC|Category|Obsoletes|Updates|ISSN|STD|BCP|FYI|NIC)\b"
    r"|^(?i:[\d.]*\s*(?:abstract|foreword|introduction|preface|summary))\W*$|^[\d\s()-]+$"
)
"""Date, number of the document or of a telephone, or heading of the first section."""
_LETTER = re.compile(r"\s*(?:[a-z]\.?|[A-Z])\s")
"""Mark of a list item, or an article: appendices have a capital and a full stop."""
_MAX_HEADING = 100


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read an RFC.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    del options
    text, notes = decode_text(content)
    blocks = list(classify_blocks(text))
    # The title is the last centred block of the front page that is no date, number or heading of a section.
    front_end = next((index for index, block in enumerate(blocks) if block.part in ("dropped", "prose")), 0)
    centred = (
        unwrap(block.lines)
        for block in reversed(blocks[:front_end])
        if len(block.lines) <= 4 and all(indentation(line) > 3 for line in block.lines)
    )
    title = next((text for text in centred if not _NO_TITLE.search(text)), "")
    return ParsedDocument(tuple(_text_blocks(blocks, title)), title, notes)


def _text_blocks(blocks: list[RfcBlock], title: str) -> Iterator[TextBlock]:
    # Headings between a table of contents and the first paragraph, "1." above "1.1.".
    headings: set[int] = set()
    for index in range(len(blocks) - 1, 0, -1):
        block = blocks[index - 1]
        last = blocks[index].part != "dropped" or (index in headings and _level(blocks[index].lines[0]) > 1)
        if last and "contents" in block.section and len(block.lines) == 1 and _depth(block.lines[0]):
            headings.add(index - 1)
    for index, block in enumerate(blocks):
        text = unwrap(block.lines)
        is_abstract = block.part == "dropped" and block.section == "abstract"
        line = block.lines[0]
        is_numbered = bool(SECTION_NUMBER.match(line)) and not _LETTER.match(line) and indentation(line) <= 3
        is_title = len(block.lines) == 1 and indentation(line) == 0 and line[0].isupper()
        is_short = len(block.lines) <= 2 and len(line) <= _MAX_HEADING and any(map(str.isalpha, line))
        is_heading = is_short and (is_numbered or is_title)
        if text == title or (is_abstract and _section_name(block.lines) == "abstract"):
            yield TextBlock(text, "heading", 1, line=block.number)
        elif index in headings:
            yield TextBlock(text, "heading", _level(block.lines[0]), line=block.number)
        elif is_abstract:
            yield TextBlock(text, line=block.number)
        elif block.part in ("front", "dropped"):
            yield TextBlock(text, "notice", line=block.number)
        elif block.part != "prose" and CAPTION.match(text):
            yield TextBlock(text, "caption", line=block.number)
        elif block.part != "prose" and is_heading:
            yield TextBlock(text, "heading", _level(block.lines[0]), line=block.number)
        elif block.part == "drawing" or (block.part != "prose" and (len(block.lines) > 1 or is_drawing(block.lines))):
            indent = min(map(indentation, block.lines))
            yield TextBlock("\n".join(line[indent:] for line in block.lines), "code", line=block.number)
        else:
            mark = list_mark(text)
            yield TextBlock(text[mark:], "list_item" if mark else "paragraph", 1 if mark else 0, line=block.number)


def _level(line: str) -> int:
    return min(6, max(1, _depth(line)))


def _depth(line: str) -> int:
    """Return the depth of the section that a line numbers; 0 without a number."""
    number = SECTION_NUMBER.match(line)
    return 1 + number["number"].count(".") if number and number["number"] else 0
