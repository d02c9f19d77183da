"""reStructuredText by docutils, with the directives and roles of Sphinx, which `_docutils` adds to it."""

from importlib.util import find_spec
from typing import Final

from sumpool.documents.decoding import decode_text
from sumpool.documents.document import ParsedDocument, ReadOptions, opening_heading
from sumpool.documents.formats import missing_library

_MAX_DEPTH: Final = 50
"""Indentations in each other; docutils takes 2.8 GB for 3,000 of them."""


def parse(content: bytes, options: ReadOptions) -> ParsedDocument:
    """Read reStructuredText.

    Raises:
        ValueError: If the content is not text in a known encoding, is nested too deeply, or takes more time or memory
            than suits its size.
        DataError: If docutils is not installed.
    """
    del options
    if find_spec("docutils") is None:
        raise missing_library("docutils", "reStructuredText")
    text, notes = decode_text(content)
    _check_depth(text)
    from sumpool.documents.formats._docutils import read_blocks  # which imports it

    blocks = read_blocks(text)
    return ParsedDocument(blocks, opening_heading(blocks), notes)


def _check_depth(text: str) -> None:
    indents = [0]
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if indent == len(line):
            continue
        while indents[-1] > indent:
            indents.pop()
        if indent > indents[-1]:
            indents.append(indent)
        if len(indents) > _MAX_DEPTH:
            raise ValueError(f"must have at most {_MAX_DEPTH} indentations in each other, got more; convert it to text")
