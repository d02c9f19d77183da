"""The first pass: rows of a source become texts, each document in its split."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from sumpool.data.document_stats import text_digest
from sumpool.data.sources._base import SPLITS, Example, Reject, Split
from sumpool.data.texts import TextsWriter
from sumpool.errors import DataError
from sumpool.interruption import Check
from sumpool.progress import Progress, Report

REJECTS = "rejects.jsonl"
TASK = "prepare: read"
_EVERY = 20
"""Rows between two reports of progress."""


@dataclass(frozen=True)
class Ingested:
    """How the first pass went.

    Attributes:
        documents: Documents of each split.
        rejected: Rows that could not be used.
    """

    documents: dict[Split, int]
    rejected: int

    @property
    def kept(self) -> int:
        """Documents of all splits."""
        return sum(self.documents.values())


def read(
    source: Iterator[Example | Reject], folder: Path, *, skip_bad_rows: bool, report: Report, check: Check
) -> Ingested:
    """Write the texts of every split, and a line for every row that cannot be used.

    Args:
        source: The rows; they are read one at a time.
        folder: Where the texts go.
        skip_bad_rows: Whether to go on after a row that cannot be used.
        report: Told of progress.
        check: Called for every row.

    Raises:
        DataError: If a row cannot be used and bad ones are not skipped, or there is nothing to train on.
    """
    known: set[int] = set()
    rows = rejected = 0
    with ExitStack() as files:
        rejects = files.enter_context((folder / REJECTS).open("w"))
        writers = {split: files.enter_context(TextsWriter(folder, split)) for split in SPLITS}
        for rows, row in enumerate(source, start=1):
            check()
            found = _checked(row, known)
            if isinstance(found, Example):
                writers[found.split].add(found)
            elif skip_bad_rows:
                rejects.write(json.dumps({"where": found.where, "reason": found.reason}) + "\n")
                rejected += 1
            else:
                raise DataError(f"{found.where}: {found.reason}; mend it, or leave such rows out with --skip-bad-rows")
            if rows % _EVERY == 0:
                report(Progress(TASK, rows))
        reading = Ingested({split: writer.documents for split, writer in writers.items()}, rejected)
    report(Progress(TASK, rows, rows))
    assert rows == reading.kept + reading.rejected, "every row is kept or rejected"
    if not reading.documents["train"]:
        raise DataError(
            f"the source of the data must hold a training document, got {rows:,} rows with none that can be used"
        )
    return reading


def _checked(row: Example | Reject, known: set[int]) -> Example | Reject:
    """The row, or what is wrong with it that no source looks for."""
    if isinstance(row, Reject):
        return row
    where = f"document {row.id!r}"
    try:
        digest = text_digest(row.id)
        (row.document + row.summary).encode()
    except UnicodeEncodeError as error:
        return Reject(where, f"text must be Unicode characters, got half of a surrogate pair at {error.start}")
    if digest in known:
        return Reject(where, "id must belong to one document, got it a second time")
    known.add(digest)
    for name, text in (("document", row.document), ("summary", row.summary)):
        if not text.strip():
            return Reject(where, f"{name} must hold text, got {text[:20]!r}")
    return row
