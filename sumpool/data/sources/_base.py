"""What every source of documents is."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sumpool.settings import Settings

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


@dataclass(frozen=True)
class Example:
    """A document with its summary.

    Attributes:
        id: Name of the document, unique in its source.
        document: The text; paragraphs are separated by an empty line.
        summary: The reference.
        split: Which part of the data it belongs to.
    """

    id: str
    document: str
    summary: str
    split: Split


@dataclass(frozen=True)
class Reject:
    """A row that cannot be used.

    Attributes:
        where: `file:line` or the file.
        reason: Why, in half a sentence.
    """

    where: str
    reason: str


class SourceConfig(Settings, ABC):
    """Settings of one source."""

    kind: str

    @abstractmethod
    def rows(self) -> Iterator["Example | Reject"]:
        """Read every row, one at a time and in a fixed order; a bad one comes as a `Reject`."""

    def notes(self) -> Iterable[str]:
        """Say what was guessed, in sentences for the user; nothing by default."""
        return ()

    def files(self) -> Iterator[Path]:
        """Name the files that the rows come from, so that prepared data knows when they have changed.

        By default every path among the settings, and whatever is in it where it is a folder.
        """
        for name in type(self).model_fields:
            value = getattr(self, name)
            for path in value if isinstance(value, tuple) else (value,):
                if isinstance(path, Path):
                    yield from sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else (path,)
