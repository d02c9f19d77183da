"""Source interface: rows of documents with summaries, assigned to splits."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from sumpool.documents.document import Limits
from sumpool.documents.document import Reject as Reject
from sumpool.settings import Settings

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


@dataclass(frozen=True)
class Example:
    """A document with its summary, or one or two documents with their label.

    Attributes:
        id: Document id, unique within its source.
        document: Document text; paragraphs are separated by an empty line.
        summary: Reference summary, or label.
        split: Split of the document.
        second: Second document of a pair; empty without one.
    """

    id: str
    document: str
    summary: str
    split: Split
    second: str = ""

    @property
    def text(self) -> str:
        """Text of the document, or of both documents of a pair."""
        return f"{self.document}\n\n{self.second}" if self.second else self.document


@dataclass(frozen=True)
class Fields:
    """Names of the fields of document, summary (or label) and id; without an id, the location in the file is the id."""

    document: str
    summary: str
    id: str | None


class SourceConfig(Settings, ABC):
    """Settings of a source."""

    kind: str
    max_bytes: int = Field(256 * 2**20, ge=1)
    """Largest row, or file of a folder or an archive, in bytes after decompression."""
    max_ratio: int = Field(300, ge=1)
    """Most decompressed bytes of a file for each compressed one."""

    @property
    def limits(self) -> Limits:
        """Limits of what is read from a file."""
        return Limits(
            self.max_bytes,
            self.max_ratio,
            "; raise data.source.max_bytes to read it",
            "; raise data.source.max_ratio to read it",
        )

    @abstractmethod
    def rows(self) -> Iterator[Example | Reject]:
        """Read all rows, one at a time and in a fixed order; an unusable row is returned as a `Reject`."""

    def field_names(self) -> Fields | None:
        """Return the names of the fields that are read; None for sources without named fields."""
        return None

    def notes(self) -> Iterable[str]:
        """Return messages about guessed settings and excluded documents; none by default."""
        return ()

    def revision(self) -> int:
        """Return the number of the cleaning; raising it makes prepared data stale although its files are unchanged."""
        return 0

    def files(self) -> Iterator[Path]:
        """List the files that the rows are read from, so that changes to them are detected.

        By default all paths among the settings; a folder stands for all files in it.
        """
        for name in type(self).model_fields:
            value = getattr(self, name)
            for path in value if isinstance(value, tuple) else (value,):
                if isinstance(path, Path):
                    yield from sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else (path,)


def hash_split(name: str, validation: float, test: float) -> Split:
    """Assign a document to a split by a hash of its id, independent of machine and document order.

    Args:
        name: Document id.
        validation: Fraction of the documents for validation, from 0 to 1.
        test: Fraction of the documents for testing, from 0 to 1.
    """
    draw = int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest()) / 2**64
    if draw < test:
        return "test"
    return "validation" if draw < test + validation else "train"
