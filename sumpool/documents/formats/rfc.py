"""Raw RFCs, cleaned as `prepare` cleans them, with their headings.

The text of paragraphs equals what `prepare` makes of the document, and the abstract, which is the reference summary
there, stays. Status, copyright, contents and addresses are notices; drawings and tables keep their lines as code.
"""

import re
from collections.abc import Iterator

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, TextBlock
from sumpool.documents.plain_text.drawings import is_drawing
from sumpool.documents.plain_text.lines import unwrap
from sumpool.documents.plain_text.pages import indentation
from sumpool.documents.rfc import SECTION_NUMBER, RfcBlock, classify_blocks, section_name
from sumpool.documents.sections import CAPTION
from sumpool.text.sentences import list_mark

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
    title = _title(blocks)
    return ParsedDocument(tuple(_text_blocks(blocks, title)), title, notes)


def _text_blocks(blocks: list[RfcBlock], title: str) -> Iterator[TextBlock]:
    headings = _headings_behind_contents(blocks)
    for index, block in enumerate(blocks):
        text = unwrap(block.lines)
        if text == title:
            yield TextBlock(text, "heading", 1, line=block.number)
        elif block.part == "front":
            yield TextBlock(text, "notice", line=block.number)
        elif index in headings:
            yield TextBlock(text, "heading", _level(block.lines[0]), line=block.number)
        elif block.part == "dropped":
            yield _dropped_block(block, text)
        else:
            yield _body_block(block, text)


def _headings_behind_contents(blocks: list[RfcBlock]) -> set[int]:
    """Return the indices of the headings between a table of contents and the first paragraph, "1." above "1.1."."""
    headings: set[int] = set()
    for index in range(len(blocks) - 1, 0, -1):
        block = blocks[index - 1]
        last = blocks[index].part != "dropped" or (index in headings and _level(blocks[index].lines[0]) > 1)
        if last and "contents" in block.section and len(block.lines) == 1 and _depth(block.lines[0]):
            headings.add(index - 1)
    return headings


def _dropped_block(block: RfcBlock, text: str) -> TextBlock:
    """Return a block of a section that `prepare` drops: the abstract stays, all others are notices."""
    if block.section != "abstract":
        return TextBlock(text, "notice", line=block.number)
    if section_name(block.lines) == "abstract":
        return TextBlock(text, "heading", 1, line=block.number)
    return TextBlock(text, line=block.number)


def _body_block(block: RfcBlock, text: str) -> TextBlock:
    if block.part == "prose":
        return _paragraph(text, block.number)
    if CAPTION.match(text):
        return TextBlock(text, "caption", line=block.number)
    if _is_heading_line(block):
        return TextBlock(text, "heading", _level(block.lines[0]), line=block.number)
    if block.part == "drawing" or len(block.lines) > 1 or is_drawing(block.lines):
        indent = min(map(indentation, block.lines))
        return TextBlock("\n".join(line[indent:] for line in block.lines), "code", line=block.number)
    return _paragraph(text, block.number)


def _paragraph(text: str, line: int) -> TextBlock:
    mark = list_mark(text)
    return TextBlock(text[mark:], "list_item" if mark else "paragraph", 1 if mark else 0, line=line)


def _is_heading_line(block: RfcBlock) -> bool:
    """Return whether a block is a heading: numbered, or one line without indentation."""
    line = block.lines[0]
    if len(block.lines) > 2 or len(line) > _MAX_HEADING or not any(character.isalpha() for character in line):
        return False
    numbered = bool(SECTION_NUMBER.match(line)) and not _LETTER.match(line) and indentation(line) <= 3
    return numbered or (len(block.lines) == 1 and indentation(line) == 0 and line[0].isupper())


def _level(line: str) -> int:
    return min(6, max(1, _depth(line)))


def _depth(line: str) -> int:
    """Return the depth of the section that a line numbers; 0 without a number."""
    number = SECTION_NUMBER.match(line)
    return 1 + number["number"].count(".") if number and number["number"] else 0


def _title(blocks: list[RfcBlock]) -> str:
    """Return the title: the last centred block of the front page that is no date, number or heading of a section."""
    front_end = next((index for index, block in enumerate(blocks) if block.part in ("dropped", "prose")), 0)
    for block in reversed(blocks[:front_end]):
        text = unwrap(block.lines)
        centred = all(indentation(line) > 3 for line in block.lines)
        if centred and len(block.lines) <= 4 and not _NO_TITLE.search(text):
            return text
    return ""
