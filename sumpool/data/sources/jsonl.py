"""JSON lines: one document with its summary per line."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, final

from pydantic import Field, model_validator

from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.data.sources._fields import Fields, examples, split_files
from sumpool.documents.json_lines import Line, read_lines


@final
class JsonlSourceConfig(SourceConfig):
    """JSON lines files, optionally compressed (.gz, .zst): one file for all splits or one per split."""

    kind: Literal["jsonl"] = "jsonl"
    path: Path | None = None
    """File with all documents, split by a hash of their id. Either `path` or `train` must be set."""
    train: Path | None = None
    """File with the training documents."""
    validation: Path | None = None
    """File with the validation documents."""
    test: Path | None = None
    """File with the test documents."""
    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for testing."""
    document: str | None = None
    """Field of the document; by default the first usual name (document, article, text, ...) in the first line."""
    summary: str | None = None
    """Field of the summary; by default the first usual name (summary, abstract, highlights, ...) in the first line."""
    id: str | None = None
    """Field of the id; by default the first usual name (id, article_id, ...) in the first line, else `file:line`."""

    @model_validator(mode="after")
    def _one_way_to_split(self) -> "JsonlSourceConfig":
        split_files(self.path, self.train, self.validation, self.test)
        return self

    def rows(self) -> Iterator[Example | Reject]:
        """Read all lines of all files.

        Raises:
            DataError: If a file is missing or truncated, or has no field with a usual name for document or summary.
        """
        files = split_files(self.path, self.train, self.validation, self.test)
        rows = ((self._fields(path), split, read_lines(path)) for path, split in files)
        yield from examples(rows, self.validation_share, self.test_share)

    def notes(self) -> Iterable[str]:
        """Return a message per file with guessed field names.

        Raises:
            DataError: As `rows`.
        """
        for path, _ in split_files(self.path, self.train, self.validation, self.test):
            yield from self._names.note(self._fields(path), path)

    @property
    def _names(self) -> Fields:
        return Fields(self.document, self.summary, self.id)

    def _fields(self, path: Path) -> Fields:
        """Complete the field names from the first valid line."""
        first = next((line.fields for line in read_lines(path) if isinstance(line, Line)), {})
        return self._names.guess(first, path)
