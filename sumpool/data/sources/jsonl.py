"""JSON lines: one document with its summary per line.

All documents are in the file `path`, or each split has its file; files may be compressed (.gz, .zst).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, final

from sumpool.data.sources._base import Fields
from sumpool.data.sources._files import FieldsSourceConfig
from sumpool.documents.json_lines import Line, Reject, read_lines


@final
class JsonlSourceConfig(FieldsSourceConfig):
    """JSON lines files, one for all splits or one per split."""

    kind: Literal["jsonl"] = "jsonl"

    def fields_of(self, path: Path) -> Fields:
        """Return the field names of a file, guessing those that are not set from the first valid line.

        Raises:
            DataError: If the file cannot be read, or the line lacks a usual name for document or summary.
        """
        first = next((line.fields for line in read_lines(path) if isinstance(line, Line)), {})
        return self.guess(first, path)

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the lines of a file.

        Raises:
            DataError: If the file is missing or truncated.
        """
        del fields
        return read_lines(path)
