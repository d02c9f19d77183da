"""Blocks of RFC texts.

An RFC is plain text laid out for a line printer: pages with headers and footers, a block with authors and title, legal
sections, a table of contents.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from sumpool.documents.rfc_pages import numbered_lines
from sumpool.documents.rfc_sections import (
    SECTION_NUMBER,
    Block,
    dropped_sections,
    has_columns,
    is_rule,
    is_running_text,
    lacks_punctuation,
    opens_dropped_section,
    reads_as_prose,
)

Part = Literal["front", "dropped", "drawing", "fragment", "prose"]
"""Part of an RFC that a block belongs to: front page, dropped section, drawing or table, heading or caption, prose."""


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


_LEGAL = re.compile(
    r"Copyright \([cC]\)|This document is subject to (?:BCP 78|the rights)"
    r"|This document and (?:the information contained|translations of it)|The limited permissions granted above"
    r"|The IETF takes no position regarding the validity|Copies of IPR disclosures"
    r"|The IETF invites any interested party|Funding for the RFC Editor function"
)
_BROKEN_WORD = re.compile(r"(?<=\w)- (?=[a-z0-9])(?!(?:and|or|to) )")
_CORNER = re.compile(r"--\+|\+--")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


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


def unwrap(lines: Iterable[str]) -> str:
    """Join lines with single spaces; a hyphen at a line end is kept, without a space after it."""
    text = " ".join(" ".join(lines).split())
    return _BROKEN_WORD.sub("-", text) if "- " in text else text


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


def is_drawing(block: Block) -> bool:
    """Return whether a block is a drawing, a numeric table or a dump, by its fraction of letters and its rules.

    Sentences with many numbers, or with names between bars ("the |Origin| header"), are none.
    """
    text = "".join("".join(block).split()).encode("ascii", "ignore")
    if len(text.translate(None, _NO_LETTERS)) >= 0.7 * len(text) and sum(map(_is_drawn, block)) < 2:
        return False
    is_prose = reads_as_prose(block) and not lacks_punctuation(block[-1])
    return not is_prose or has_columns(block) or any(is_rule(line) or _CORNER.search(line) for line in block)


def _is_drawn(line: str) -> bool:
    """Return whether a line has cells between bars, or parts of a rule."""
    return line.count("|") > 1 or bool(_CORNER.search(line)) or "====" in line


def _is_prose(paragraph: str) -> bool:
    """Return whether a paragraph is prose, not a heading, a caption or a legal notice."""
    return (len(paragraph) >= 75 or not lacks_punctuation(paragraph)) and not _LEGAL.match(paragraph)
