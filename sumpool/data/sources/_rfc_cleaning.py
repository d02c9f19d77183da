"""Cleaning of RFC texts and abstracts.

An RFC is plain text laid out for a line printer: pages with headers and footers, a block with authors and title, legal
sections, a table of contents. `clean_body` removes all of these, the abstract (the reference summary), headings,
drawings, tables and hex dumps, and joins every paragraph into one line.
"""

import re
from collections.abc import Iterable, Iterator

from sumpool.data.sources._rfc_pages import indentation, remove_page_breaks

Block = list[str]
"""Consecutive non-empty lines with their indentation; at least one."""

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

_LEGAL = re.compile(
    r"Copyright \([cC]\)|This document is subject to BCP 78"
    r"|This document and (?:the information contained|translations of it)|The limited permissions granted above"
    r"|The IETF takes no position regarding the validity|Copies of IPR disclosures"
    r"|The IETF invites any interested party|Funding for the RFC Editor function"
)
_SECTION_NUMBER = re.compile(r"^\s*(?:(?:appendix\s+)?(?:[a-z]|\d+)(?:\.\d+)*\.?|[ivx]+\.)\s+(?=\S)", re.IGNORECASE)
_PAGE_REFERENCE = re.compile(r"(?:\.\s?){3,}\s*\d*\s*$|\s{2,}\d+\s*$")
_COLUMNS = re.compile(r"\S {9,}\S|(?:\. ?){4,}")
_BROKEN_WORD = re.compile(r"(?<=\w)- (?=[a-z0-9])(?!(?:and|or|to) )")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())

_STAMP = re.compile(
    r"\[\s*(?:(?:PROPOSED |DRAFT |INTERNET )?STANDARDS?(?:[- ]+TRACK)?|INFORMATIONAL|EXPERIMENTAL|HISTORIC(?:AL)?)\s*\]"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"(\[])")
_BOILERPLATE = re.compile(
    r"This (?:memo|document|RFC|paper) provides information (?:for|to) the (?:ARPA-?|DARPA )?\s?Internet community\b.*"
    r"|(?:This (?:memo|document|RFC)|It) does not (?:specify|define) an(?:y)? (?:Internet )?standards?\b.*"
    r"|(?:This (?:memo|document|RFC)|It) (?:defines|is|documents|specifies|describes) an? "
    r"(?:Experimental Protocol|Historic Document|Internet Best Current Practices?)\b.*"
    r"|(?:This (?:memo|document) is|.*) not an Internet Standards Track specification\b.*"
    r"|Discussion and suggestions for improvement are (?:requested|welcome)\.?"
    r"|Distribution of this (?:memo|document) is unlimited\.?",
    re.IGNORECASE,
)


def clean_body(text: str) -> str:
    """Return the prose of an RFC as paragraphs of one line each, separated by empty lines."""
    blocks = _blocks(remove_page_breaks(text))
    blocks = [block for block in _remove_sections(_remove_title(blocks)) if not _is_drawing(block)]
    return "\n\n".join(paragraph for paragraph in map(unwrap, blocks) if _is_prose(paragraph))


def clean_abstract(text: str) -> str:
    """Return an abstract of the RFC index as one paragraph, without the boilerplate that the index adds.

    The result is empty if only boilerplate is given.
    """
    sentences = _SENTENCE_END.split(unwrap([_STAMP.sub(" ", text)]))
    return " ".join(sentence for sentence in sentences if not _BOILERPLATE.fullmatch(sentence))


def unwrap(lines: Iterable[str]) -> str:
    """Join lines with single spaces; a hyphen at a line end is kept, without a space after it."""
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


def _remove_title(blocks: list[Block]) -> list[Block]:
    """Remove the blocks before the first section or paragraph: stream, number, authors, date, title."""
    for index, block in enumerate(blocks[:12]):
        if _opens_dropped_section(block) or _SECTION_NUMBER.match(block[0]) or _is_running_text(block):
            return blocks[index:]
    return blocks[1:]


def _remove_sections(blocks: list[Block]) -> Iterator[Block]:
    """Remove the sections named in `_DROPPED_SECTIONS`, each up to the next heading.

    Entries of a table of contents look like headings; a table of contents is removed up to the first paragraph.
    """
    dropped: Block | None = None
    in_contents = False
    for block in blocks:
        if _opens_dropped_section(block):
            dropped, in_contents = block, "contents" in _section_name(block)
        elif dropped and (_is_running_text(block) if in_contents else _is_heading(block, indentation(dropped[0]))):
            dropped = None
        if not dropped:
            yield block


def _opens_dropped_section(block: Block) -> bool:
    if len(block[0]) > 60:
        return False
    name = _section_name(block)
    return name in _DROPPED_SECTIONS and (len(block) == 1 or " " in name)


def _section_name(block: Block) -> str:
    """Return the section name in a heading, in lower case and without the section number."""
    return _SECTION_NUMBER.sub("", block[0], count=1).strip(" .:-=").lower().replace("\u2019", "'")


def _is_heading(block: Block, indent: int) -> bool:
    line = block[0]
    if len(line) > 100 or indentation(line) > indent or _PAGE_REFERENCE.search(line):
        return False
    return (len(block) <= 2 and bool(_SECTION_NUMBER.match(line))) or (len(block) == 1 and _lacks_punctuation(line))


def _is_running_text(block: Block) -> bool:
    """Return whether a block is running text, not a title, columns or a table of contents."""
    return (
        len(block) > 1
        and max(map(len, block)) > 50
        and not _lacks_punctuation(block[-1])
        and not _COLUMNS.search(" ".join(block).lstrip())
        and 3 * sum(bool(_SECTION_NUMBER.match(line)) for line in block) <= len(block)
    )


def _is_drawing(block: Block) -> bool:
    """Return whether a block is a drawing, a numeric table or a dump, by its fraction of letters and its rules."""
    text = "".join("".join(block).split()).encode("ascii", "ignore")
    if len(text.translate(None, _NO_LETTERS)) < 0.7 * len(text):
        return True
    return sum(line.count("|") > 1 or "--+" in line or "+--" in line or "====" in line for line in block) > 1


def _is_prose(paragraph: str) -> bool:
    """Return whether a paragraph is prose, not a heading, a caption or a legal notice."""
    return (len(paragraph) >= 75 or not _lacks_punctuation(paragraph)) and not _LEGAL.match(paragraph)


def _lacks_punctuation(line: str) -> bool:
    """Return whether a line does not end in punctuation."""
    return line[-1] not in ".:;,?!)\"'"
