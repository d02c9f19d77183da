"""CC-100 (Conneau et al., 2020): documents of plain text that are separated by blank lines, usually in `.txt.xz`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from sumpool.documents.document import DEFAULT_LIMITS
from sumpool.errors import DataError
from sumpool.tasks.language_modeling.sources._base import CHUNK_CHARACTERS, TextChunk, TextSourceConfig, read_chunks


@final
class Cc100TextSourceConfig(TextSourceConfig):
    """Files of documents between blank lines."""

    kind: Literal["cc100"] = "cc100"

    def documents(self, path: Path, *, strict: bool) -> Iterator[TextChunk]:
        """Read the documents of a file; their ids are the numbers of their first lines.

        Raises:
            DataError: If the file is missing, damaged, or not UTF-8, or a line is too long.
        """
        name = ""
        lines: list[str] = []
        size = 0
        for number, line in enumerate(self._lines(path, strict), 1):
            if line.strip():
                name = name or f"{path}:{number}"
                lines.append(line)
                size += len(line)
            if lines and (size >= CHUNK_CHARACTERS or not line.strip()):
                yield TextChunk(name, "".join(lines))
                lines, size = [], 0
            if not line.strip():
                name = ""
        if lines:
            yield TextChunk(name, "".join(lines))

    def _lines(self, path: Path, strict: bool) -> Iterator[str]:
        rest = ""
        for text in read_chunks(path, strict=strict):
            *lines, rest = (rest + text).split("\n")
            yield from (f"{line}\n" for line in lines)
            if len(rest) > DEFAULT_LIMITS.max_bytes:
                raise DataError(
                    f"{path} must have lines of at most {DEFAULT_LIMITS.max_bytes:,} bytes, got a longer one; divide it"
                )
        if rest:
            yield rest
