"""Source interface: rows of documents with summaries, assigned to splits."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sumpool.data.inputs import InputConfig, Split
from sumpool.documents.document import Reject as Reject


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


class SourceConfig(InputConfig, ABC):
    """Settings of a source of documents with summaries."""

    @abstractmethod
    def rows(self) -> Iterator[Example | Reject]:
        """Read all rows, one at a time and in a fixed order; an unusable row is returned as a `Reject`."""

    def field_names(self) -> Fields | None:
        """Return the names of the fields that are read; None for sources without named fields."""
        return None

    def notes(self) -> Iterable[str]:
        """Return messages about guessed settings and excluded documents; none by default."""
        return ()


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
