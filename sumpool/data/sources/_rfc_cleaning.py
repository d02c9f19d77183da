"""From the pages of an RFC to the prose of its body.

An RFC is plain text laid out for a line printer: pages with headers and footers, a block with authors and title, legal
sections, a table of contents. `body` takes all of that out, the abstract too because that is what a model is asked
for, and makes every paragraph one line. What is no prose goes as well: headings, drawings, tables and dumps.
"""

import re
from collections.abc import Iterable, Iterator

from sumpool.data.sources._rfc_pages import indentation, without_page_breaks

Block = list[str]
"""Lines without an empty line between them, indentation kept; never empty."""

_DROPPED = frozenset(
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
"""Names of sections that say nothing about the subject, or too much: the abstract."""

_LEGAL = re.compile(
    r"Copyright \([cC]\)|This document is subject to BCP 78"
    r"|This document and (?:the information contained|translations of it)|The limited permissions granted above"
    r"|The IETF takes no position regarding the validity|Copies of IPR disclosures"
    r"|The IETF invites any interested party|Funding for the RFC Editor function"
)
_NUMBER = re.compile(r"^\s*(?:(?:appendix\s+)?(?:[a-z]|\d+)(?:\.\d+)*\.?|[ivx]+\.)\s+(?=\S)", re.IGNORECASE)
_PAGE_REFERENCE = re.compile(r"(?:\.\s?){3,}\s*\d*\s*$|\s{2,}\d+\s*$")
_COLUMNS = re.compile(r"\S {9,}\S|(?:\. ?){4,}")
_BROKEN_WORD = re.compile(r"(?<=\w)- (?=[a-z0-9])(?!(?:and|or|to) )")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


def body(text: str) -> str:
    """Give the prose of an RFC as paragraphs of one line each, with an empty line between them."""
    blocks = _blocks(without_page_breaks(text))
    kept = (block for block in _without_sections(_without_title(blocks)) if not _is_drawing(block))
    return "\n\n".join(paragraph for paragraph in map(unwrap, kept) if _is_prose(paragraph))


def unwrap(lines: Iterable[str]) -> str:
    """Join lines with single spaces; a hyphen that ends a line stays, without a space behind it."""
    text = " ".join(" ".join(lines).split())
    return _BROKEN_WORD.sub("-", text) if "- " in text else text


def _blocks(lines: Iterable[str]) -> list[Block]:
    blocks: list[Block] = [[]]
    for line in lines:
        if line:
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _without_title(blocks: list[Block]) -> list[Block]:
    """Leave out what stands before the first section or the first paragraph: stream, number, authors, date, title."""
    for place, block in enumerate(blocks[:12]):
        if _opens_dropped(block) or _NUMBER.match(block[0]) or _is_running_text(block):
            return blocks[place:]
    return blocks[1:]


def _without_sections(blocks: list[Block]) -> Iterator[Block]:
    """Leave out the sections with a name in `_DROPPED`, each up to the next heading.

    Entries of a table of contents look like headings, so that one goes on up to the first paragraph.
    """
    dropped: Block | None = None
    in_contents = False
    for block in blocks:
        if _opens_dropped(block):
            dropped, in_contents = block, "contents" in _name(block)
        elif dropped and (_is_running_text(block) if in_contents else _is_heading(block, indentation(dropped[0]))):
            dropped = None
        if not dropped:
            yield block


def _opens_dropped(block: Block) -> bool:
    if len(block[0]) > 60:
        return False
    name = _name(block)
    return name in _DROPPED and (len(block) == 1 or " " in name)


def _name(block: Block) -> str:
    """Give the name of the section that a heading opens, in lower case and without its number."""
    return _NUMBER.sub("", block[0], count=1).strip(" .:-=").lower().replace("\u2019", "'")


def _is_heading(block: Block, indent: int) -> bool:
    line = block[0]
    if len(line) > 100 or indentation(line) > indent or _PAGE_REFERENCE.search(line):
        return False
    return (len(block) <= 2 and bool(_NUMBER.match(line))) or (len(block) == 1 and _ends_open(line))


def _is_running_text(block: Block) -> bool:
    """Tell prose from a title, from columns and from a table of contents."""
    return (
        len(block) > 1
        and max(map(len, block)) > 50
        and not _ends_open(block[-1])
        and not _COLUMNS.search(" ".join(block).lstrip())
        and 3 * sum(bool(_NUMBER.match(line)) for line in block) <= len(block)
    )


def _is_drawing(block: Block) -> bool:
    """Tell drawings, tables of numbers and dumps from text, by their letters."""
    text = "".join("".join(block).split()).encode("ascii", "ignore")
    if len(text.translate(None, _NO_LETTERS)) < 0.7 * len(text):
        return True
    return sum(line.count("|") > 1 or "--+" in line or "+--" in line or "====" in line for line in block) > 1


def _is_prose(paragraph: str) -> bool:
    """Tell a paragraph from a heading, the caption of a figure and a legal formula."""
    return (len(paragraph) >= 75 or not _ends_open(paragraph)) and not _LEGAL.match(paragraph)


def _ends_open(line: str) -> bool:
    return line[-1] not in ".:;,?!)\"'"
