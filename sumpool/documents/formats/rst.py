"""reStructuredText by docutils, with the directives and roles of Sphinx, which `_docutils` adds to it."""

from importlib.util import find_spec

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, opening_heading
from sumpool.documents.formats import missing_library


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read reStructuredText.

    Raises:
        ValueError: If the content is not text in a known encoding.
        DataError: If docutils is not installed.
    """
    del options
    if find_spec("docutils") is None:
        raise missing_library("docutils", "reStructuredText")
    text, notes = decode_text(content)
    from sumpool.documents.formats._docutils import read_blocks  # which imports it

    blocks = read_blocks(text)
    return ParsedDocument(blocks, opening_heading(blocks), notes)
