"""reStructuredText, with directives and roles of Sphinx, as far as the structure of a text needs them.

docutils drops the content of directives that it does not know, which in pages of Sphinx are many, and follows `include`
to other files; this reader does neither. Comments, targets, options of directives and pictures are left out.
"""

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, opening_heading
from sumpool.documents.rst.lines import source_lines
from sumpool.documents.rst.reader import RstReader


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read reStructuredText.

    Raises:
        ValueError: If the content is not text in a known encoding.
    """
    del options
    text, notes = decode_text(content)
    text = text.replace("\f", "").replace("\b", "").replace("\x1b", "")
    blocks = tuple(RstReader().read(source_lines(text)))
    title = opening_heading(blocks)
    return ParsedDocument(blocks, title, notes)
