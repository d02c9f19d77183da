"""JSON lines: one document with its summary a line."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, final

from pydantic import Field, model_validator

from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.data.sources._fields import Fields, examples, files_of_splits
from sumpool.documents.json_lines import Line, read_lines


@final
class JsonlSourceConfig(SourceConfig):
    """JSON lines files, also with .gz or .zst: one for all splits, or one for each."""

    kind: Literal["jsonl"] = "jsonl"
    path: Path | None = None
    """One file, split by a hash of the id."""
    train: Path | None = None
    """The training documents."""
    validation: Path | None = None
    """The validation documents."""
    test: Path | None = None
    """The test documents."""
    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Share of `path` for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Share of `path` for testing."""
    document: str | None = None
    """Field of the document; by default the first of the usual names in the first line."""
    summary: str | None = None
    """Field of the summary; by default the first of the usual names in the first line."""
    id: str | None = None
    """Field of the id; by default the first of the usual names in the first line, and `file:line` without one."""

    @model_validator(mode="after")
    def _one_way_to_split(self) -> "JsonlSourceConfig":
        files_of_splits(self.path, self.train, self.validation, self.test)
        return self

    def rows(self) -> Iterator[Example | Reject]:
        """Read every line of every file.

        Raises:
            DataError: If a file is missing or breaks off, or if no field looks like a document or a summary.
        """
        files = files_of_splits(self.path, self.train, self.validation, self.test)
        read = ((self._fields(path), split, read_lines(path)) for path, split in files)
        yield from examples(read, self.validation_share, self.test_share)

    def notes(self) -> Iterable[str]:
        """Say which fields were guessed.

        Raises:
            DataError: As `rows`.
        """
        for path, _ in files_of_splits(self.path, self.train, self.validation, self.test):
            yield from self._chosen.note(self._fields(path), path)

    @property
    def _chosen(self) -> Fields:
        return Fields(self.document, self.summary, self.id)

    def _fields(self, path: Path) -> Fields:
        """Guess what is not set from the first line that is whole."""
        first = next((line.fields for line in read_lines(path) if isinstance(line, Line)), {})
        return self._chosen.guess(first, path)
