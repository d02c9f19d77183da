"""Blocks of RFC texts: front page, sections that are no part of the body, drawings, headings and prose.

An RFC is plain text laid out for a line printer. Formalities, the abstract, the table of contents and addresses are
dropped, each up to the next heading; a table of contents, whose entries look like headings, up to the first paragraph.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from sumpool.documents.plain_text.drawings import (
    has_columns,
    is_drawing,
    is_rule,
    lacks_punctuation,
    reads_as_prose,
)
from sumpool.documents.plain_text.lines import unwrap
from sumpool.documents.plain_text.pages import indentation, numbered_lines
from sumpool.documents.sections import PAGE_REFERENCE

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
    numbers, blocks = _blocks(numbered_lines(text))
    start = _title_blocks(blocks)
    sections = [""] * start + dropped_sections(blocks[start:])
    for index, (number, block, section) in enumerate(zip(numbers, blocks, sections, strict=True)):
        if index < start:
            part: Part = "front"
        elif section:
            part = "dropped"
        elif is_drawing(block):
            part = "drawing"
        else:
            part = "prose" if _is_prose(unwrap(block)) else "fragment"
        yield RfcBlock(block, number, part, section)


def _blocks(lines: Iterable[tuple[int, str]]) -> tuple[list[int], list[Block]]:
    """Split numbered lines at empty ones; return the first line's number and the lines of each block."""
    numbers: list[int] = []
    blocks: list[Block] = []
    in_block = False
    for number, line in lines:
        if line and in_block:
            blocks[-1].append(line)
        elif line:
            numbers.append(number)
            blocks.append([line])
        in_block = bool(line)
    return numbers, blocks


def _title_blocks(blocks: list[Block]) -> int:
    """Count the blocks before the first section or paragraph: stream, number, authors, date, title."""
    for index, block in enumerate(blocks[:12]):
        if opens_dropped_section(block) or SECTION_NUMBER.match(block[0]) or is_running_text(block):
            return index
    return min(1, len(blocks))


def _is_prose(paragraph: str) -> bool:
    """Return whether a paragraph is prose, not a heading, a caption or a legal notice."""
    return (len(paragraph) >= 75 or not lacks_punctuation(paragraph)) and not _LEGAL.match(paragraph)


def dropped_sections(blocks: list[Block]) -> list[str]:
    """Name the dropped section that each block belongs to, up to the next heading; empty outside.

    Entries of a table of contents look like headings; a table of contents is dropped up to the first paragraph.
    """
    sections: list[str] = []
    opening: Block | None = None
    name = ""
    in_body = is_indented = False
    for block in blocks:
        if opens_dropped_section(block) and not (in_body and section_name(block) in _FIELD_NAMES):
            opening, name, is_indented = block, section_name(block), True
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
    name = section_name(block)
    return name in _DROPPED_SECTIONS and (_is_one_line(block) or " " in name)


def section_name(block: Block) -> str:
    """Return the section name in a heading, in lower case and without the section number."""
    return SECTION_NUMBER.sub("", block[0], count=1).strip(" .:-=").lower().replace("\u2019", "'")


def is_running_text(block: Block) -> bool:
    """Return whether a block is running text, not a title, columns or a table of contents."""
    return not lacks_punctuation(block[-1]) and _is_paragraph(block)


def _is_paragraph(block: Block) -> bool:
    """Return whether a block is as wide as a paragraph, and neither columns nor headings nor centred lines."""
    return (
        len(block) > 1
        and max(map(len, block)) > 50
        and not has_columns(block)
        and 3 * sum(bool(SECTION_NUMBER.match(line)) for line in block) <= len(block)
        and (max(map(indentation, block[1:])) < _CENTRED or _is_aligned_prose(block))
    )


def _is_aligned_prose(block: Block) -> bool:
    """Return whether a block far from the margin reads as prose, and its lines begin in one column."""
    return len(block) > 2 and len(set(map(indentation, block[1:]))) == 1 and reads_as_prose(block)


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
    indent = indentation(opening[0])
    if _is_heading(block, indent):
        return True
    return is_indented and _is_one_line(block) and indentation(block[0]) <= indent and len(block[0]) <= 60


def _is_heading(block: Block, indent: int) -> bool:
    line = block[0]
    if len(line) > 100 or indentation(line) > indent or PAGE_REFERENCE.search(line):
        return False
    return (len(block) <= 2 and bool(SECTION_NUMBER.match(line))) or (_is_one_line(block) and lacks_punctuation(line))


def _is_one_line(block: Block) -> bool:
    """Return whether a block is one line, underlined or not."""
    return len(block) == 1 or (len(block) == 2 and is_rule(block[1].lstrip()))
