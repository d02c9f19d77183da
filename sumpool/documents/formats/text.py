"""Plain text, divided by the layout of its lines."""

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, opening_heading
from sumpool.documents.plain_text.structure import text_blocks


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read a text.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    del options
    text, notes = decode_text(content)
    blocks = tuple(text_blocks(text))
    title = opening_heading(blocks) if blocks and blocks[0].kind == "heading" else ""
    return ParsedDocument(blocks, title, notes)
