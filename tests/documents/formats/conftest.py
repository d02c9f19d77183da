"""What a format makes of a content, in a form that assertions can state in a line."""

from collections.abc import Iterable

from sumpool.documents.document import DEFAULT_OPTIONS, ParsedDocument, TextBlock
from sumpool.documents.formats import load_format

_MARKS = {"heading": "h", "paragraph": "p", "list_item": "li", "table_row": "row"}


def read(name: str, content: str | bytes) -> ParsedDocument:
    """Parse a content by a format."""
    return load_format(name)(content.encode() if isinstance(content, str) else content, DEFAULT_OPTIONS)


def texts(name: str, content: str | bytes) -> list[str]:
    """Texts of the blocks of a content."""
    return [block.text for block in read(name, content).blocks]


def outline(name: str, content: str | bytes) -> list[str]:
    """Kinds, levels and texts of the blocks of a content: "h1 Title", "p Text.", "li2 Deep", "row a | b", "code x"."""
    return outline_of(read(name, content).blocks)


def outline_of(blocks: Iterable[TextBlock]) -> list[str]:
    """Kinds, levels and texts of blocks, as `outline`; those without a text are left out, as in documents."""
    return [f"{_MARKS.get(block.kind, block.kind)}{block.level or ''} {block.text}" for block in blocks if block.text]
