"""JSON lines with a text per row, compressed or not."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, final

from sumpool.documents.document import Reject
from sumpool.tasks.language_modeling.sources._base import TextChunk, TextSourceConfig, json_texts


@final
class JsonlTextSourceConfig(TextSourceConfig):
    """Files of JSON lines."""

    kind: Literal["jsonl"] = "jsonl"
    text: str = "text"
    """Field of the text."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    def documents(self, path: Path, *, strict: bool) -> Iterator[TextChunk | Reject]:
        """Read the rows of a file; the location of a row is its id.

        Raises:
            DataError: If the file is missing or damaged.
        """
        del strict  # JSON is UTF-8
        return json_texts(path, self.text)
