"""Plain text: each file is a document, such as text8 or enwik8.

A folder stands for all `.txt` files in it, compressed or not.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from sumpool.tasks.language_modeling.sources._base import TextChunk, TextSourceConfig, read_chunks


@final
class PlainTextSourceConfig(TextSourceConfig):
    """Files of plain text."""

    kind: Literal["plain"] = "plain"

    def documents(self, path: Path, *, strict: bool) -> Iterator[TextChunk]:
        """Read a file as a document.

        Raises:
            DataError: If the file is missing, damaged, or not UTF-8.
        """
        return (TextChunk(str(path), text) for text in read_chunks(path, strict=strict))
