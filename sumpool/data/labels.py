"""Labels of the training documents, in a fixed order: the classes of a classifier.

Labels that are whole numbers are in numerical order, others in that of their characters.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sumpool.errors import DataError
from sumpool.io.bounded import read_json

LABELS = "labels.json"
"""File of prepared data and of a run folder."""
MAX_LABELS = 10_000
"""More labels are a sign of a field that holds something else."""
_ADVICE = "prepare the data again"


@dataclass(frozen=True)
class Labels:
    """Labels by class.

    Attributes:
        names: Label of each class.
    """

    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def collect(cls, labels: Iterable[str]) -> "Labels":
        """Collect the different labels of documents.

        Raises:
            DataError: If there is only one, or too many for classes.
        """
        names = set(labels)
        if not 2 <= len(names) <= MAX_LABELS:
            example = f", such as {min(names)[:40]!r}" if names else ""
            raise DataError(
                f"the training documents must have from 2 to {MAX_LABELS:,} different labels, got {len(names):,}"
                f"{example}; check data.source.label"
            )
        numeric = all(name.removeprefix("-").isdecimal() for name in names)
        return cls(tuple(sorted(names, key=lambda name: (int(name) if numeric else 0, name))))

    @classmethod
    def load(cls, folder: Path) -> "Labels":
        """Read the labels of prepared data or of a run folder.

        Raises:
            DataError: If the file is missing or damaged.
        """
        names = read_json(folder / LABELS, DataError, _ADVICE).get("labels")
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise DataError(f"{folder / LABELS} must be a list of labels, got {str(names)[:40]!r}; {_ADVICE}")
        return cls(tuple(names))

    def save(self, folder: Path) -> None:
        """Write the labels to a folder of prepared data."""
        (folder / LABELS).write_text(json.dumps({"labels": self.names}, ensure_ascii=False) + "\n", "utf-8")

    def index(self, name: str, document: str) -> int:
        """Return the class of a label.

        Raises:
            DataError: If no training document has the label.
        """
        if name not in self._indices:
            raise DataError(
                f"document {document!r} must have a label that a training document has too, got {name[:40]!r}; "
                "correct the row, or add training documents of that label"
            )
        return self._indices[name]

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}
