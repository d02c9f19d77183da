"""First pass of preparation: write the rows of a source as texts, one folder per split.

A pretraining task cuts documents into excerpts in parallel. Gap sentences take more time than everything else that is
done to a document: 10 ms for one of 1,800 words, of which reading takes .3 ms and encoding 7.
"""

import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from unicodedata import normalize

from sumpool.data.config import DataConfig
from sumpool.data.document_stats import text_digest
from sumpool.data.inputs import SPLITS, Split
from sumpool.data.pretraining_tasks import Conversion, conversion_of
from sumpool.data.processes import ordered_map
from sumpool.data.sources._base import Example, Reject
from sumpool.data.texts import TextsWriter
from sumpool.errors import DataError
from sumpool.progress import Check, Progress, Report
from sumpool.text.cleaning import remove_invisible

REJECTS = "rejects.jsonl"
TASK = "prepare: read"
_REPORT_ROWS = 20
"""Rows between progress reports."""
_SPAN_CHARACTERS = 1 << 18
"""Text per span; small enough for signals to be handled within a second."""
_SMALL_SPANS = 3
"""Fewer spans are converted by one process in about the time that worker processes take to start."""


@dataclass(frozen=True)
class Ingested:
    """Result of the first pass.

    Attributes:
        documents: Documents of each split.
        rejected: Rows that could not be used.
        invisible: Invisible characters of the documents and summaries, which splitter and tokenizer remove.
    """

    documents: dict[Split, int]
    rejected: int
    invisible: int

    @property
    def kept(self) -> int:
        """Documents of all splits."""
        return sum(self.documents.values())


def ingest(
    rows: Iterator[Example | Reject], folder: Path, *, skip_bad_rows: bool, report: Report, check: Check
) -> Ingested:
    """Write the texts of all splits, and a line for each rejected row; `check` is called for every row.

    Raises:
        DataError: If a row cannot be used and `skip_bad_rows` is false, or if no training document is left.
    """
    digests: set[int] = set()
    total = rejected = invisible = 0
    with ExitStack() as files:
        rejects = files.enter_context((folder / REJECTS).open("w"))
        writers = {split: files.enter_context(TextsWriter(folder, split)) for split in SPLITS}
        for total, row in enumerate(rows, start=1):
            check()
            row = _validated(row, digests)
            if isinstance(row, Example):
                writers[row.split].add(_composed(row))
                invisible += sum(remove_invisible(text, layout=True)[1] for text in (row.text, row.summary))
            elif skip_bad_rows:
                rejects.write(json.dumps({"where": row.where, "reason": row.reason}) + "\n")
                rejected += 1
            else:
                raise DataError(f"{row.where}: {row.reason}; correct it, or skip such rows with --skip-bad-rows")
            if total % _REPORT_ROWS == 0:
                report(Progress(TASK, total))
        ingested = Ingested({split: writer.documents for split, writer in writers.items()}, rejected, invisible)
    report(Progress(TASK, total, total))
    assert total == ingested.kept + ingested.rejected, "every row is kept or rejected"
    if not ingested.documents["train"]:
        raise DataError(f"data.source must have a training document, got {total:,} rows and none that can be used")
    return ingested


def _composed(row: Example) -> Example:
    """Return the row with letters and their accents as one character each (NFC), as documents are read."""
    document, summary, second = (normalize("NFC", text) for text in (row.document, row.summary, row.second))
    return replace(row, document=document, summary=summary, second=second)


def _validated(row: Example | Reject, digests: set[int]) -> Example | Reject:
    """Return the row, or the reason why it cannot be used; `digests` collects the ids."""
    if isinstance(row, Reject):
        return row
    where = f"document {row.id!r}"
    try:
        digest = text_digest(row.id)
        (row.text + row.summary).encode()
    except UnicodeEncodeError as error:
        return Reject(where, f"text must be valid Unicode, got an unpaired surrogate at {error.start}")
    if digest in digests:
        return Reject(where, "id must be unique, got it a second time")
    digests.add(digest)
    for name, text in (("document", row.document), ("summary", row.summary)):
        if not text.strip():
            return Reject(where, f"{name} must contain text, got {text[:20]!r}")
    return row


def read_rows(config: DataConfig, check: Check) -> Generator[Example | Reject]:
    """Read the rows of a source, converted in parallel by the pretraining task if one is set.

    Args:
        config: Source and settings.
        check: Called several times a second; an exception stops the work.

    Raises:
        RecipeError: If no source is set.
        DataError: If a file is missing or damaged.
    """
    rows, convert = config.require_source().rows(), conversion_of(config)
    if convert is None:
        yield from rows
        return
    spans = _spans(rows, check)
    first = list(islice(spans, _SMALL_SPANS))
    workers = config.workers if len(first) == _SMALL_SPANS else 0
    # `partial(_excerpts, convert)` is what each process builds.
    with closing(ordered_map(partial(partial, _excerpts, convert), chain(first, spans), workers, check)) as excerpts:
        yield from chain.from_iterable(excerpts)


def _spans(rows: Iterable[Example | Reject], check: Check) -> Iterator[list[Example | Reject]]:
    """Group rows into spans of similar amounts of text."""
    span: list[Example | Reject] = []
    size = 0
    for row in rows:
        check()
        span.append(row)
        size += len(row.document) if isinstance(row, Example) else 0
        if size > _SPAN_CHARACTERS:
            yield span
            span, size = [], 0
    if span:
        yield span


def _excerpts(convert: Conversion, span: list[Example | Reject]) -> list[Example | Reject]:
    return list(convert(iter(span)))
