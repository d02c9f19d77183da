"""Sections of RFCs that are no part of the body: formalities, the abstract, contents, addresses.

A dropped section ends at the next heading. A table of contents, whose entries look like headings, ends at the first
paragraph.
"""

import re

from sumpool.documents.rfc_pages import indentation

Block = list[str]
"""Consecutive non-empty lines with their indentation; at least one."""

SECTION_NUMBER = re.compile(r"^\s*(?:(?:appendix\s+)?(?:[a-z]|\d+)(?:\.\d+)*\.?|[ivx]+\.)\s+(?=\S)", re.IGNORECASE)
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
_PAGE_REFERENCE = re.compile(r"(?:\.\s?){3,}\s*\d*\s*$|\s{2,}\d+\s*$")
_COLUMNS = re.compile(r"\S {9,}\S|(?:\. ?){4,}")
_CENTRED = 8
"""Indentation from which on lines may be centred."""
_RULE = re.compile(r"\s*([^\w\s])\1{3,}\s*$|\s*(?:[-=_*+|]\s?){5,}$")
_WORD = re.compile(r"[\"'(\[|]*([A-Za-z]+(?:['/-][A-Za-z]+)*)[\"')\]|]*[.,;:?!]*[\"')\]]*")
_FUNCTION_WORDS = re.compile(
    r"(?:an?|all|also|and|any|are|as|at|be|been|but|by|can|could|do|does|each|for|from|had|has|have|if|in|into|is|its?"
    r"|may|more|must|no|not|of|on|one|only|or|other|shall|should|so|some|such|than|that|the|their|them|then|there"
    r"|these|they|this|those|to|used|was|we|were|when|where|which|while|will|with|would|you)",
    re.IGNORECASE,
)


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


def reads_as_prose(block: Block) -> bool:
    """Return whether a block reads as sentences: most words are words, and every fourth is a function word."""
    words = " ".join(block).split()
    matches = [match[1] for word in words if (match := _WORD.fullmatch(word))]
    functional = sum(bool(_FUNCTION_WORDS.fullmatch(word)) for word in matches)
    return len(words) > 7 and 4 * functional >= len(words) and 4 * len(matches) >= 3 * len(words)


def has_columns(block: Block) -> bool:
    """Return whether a line of a block has cells far apart or leaders of dots."""
    return any(_COLUMNS.search(line.lstrip()) for line in block)


def is_rule(line: str) -> bool:
    """Return whether a line is drawn over its whole width."""
    return bool(_RULE.match(line))


def lacks_punctuation(line: str) -> bool:
    """Return whether a line does not end in punctuation."""
    return line[-1] not in ".:;,?!)\"'"


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
    if len(line) > 100 or indentation(line) > indent or _PAGE_REFERENCE.search(line):
        return False
    return (len(block) <= 2 and bool(SECTION_NUMBER.match(line))) or (_is_one_line(block) and lacks_punctuation(line))


def _is_one_line(block: Block) -> bool:
    """Return whether a block is one line, underlined or not."""
    return len(block) == 1 or (len(block) == 2 and is_rule(block[1]))
