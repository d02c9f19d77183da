"""Summaries and their file, which a stopped run can resume."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, final

from sumpool.documents import Document
from sumpool.errors import RecipeError
from sumpool.inference.mbr_extraction import NO_EXTRACTION, Extraction
from sumpool.io.json_lines import ResumableFile, read_records


@dataclass(frozen=True)
class Summary:
    """Summary of one document.

    Attributes:
        id: Id of the document.
        summary: The text; empty if there is a reason.
        score: sum(log p) / length ** length_penalty of the generated text, in nats; None if there is no summary.
        tokens_read: Tokens of the document that the model read.
        tokens_total: Tokens of the document.
        seconds: The document's share of the time.
        reason: Why the summary is empty; empty otherwise.
        mode: "abstractive" or "extractive".
        extraction: The sentences of an extractive summary; not a part of the JSON.
    """

    id: str
    summary: str
    score: float | None
    tokens_read: int
    tokens_total: int
    seconds: float
    reason: str = ""
    mode: str = "abstractive"
    extraction: Extraction = NO_EXTRACTION

    def as_json(self) -> str:
        """Render the summary as one line of JSON, without the line feed."""
        entries = asdict(self)
        del entries["extraction"]
        entries["seconds"] = round(self.seconds, 4)
        entries["score"] = self.score if self.score is None else round(self.score, 6)
        return json.dumps(entries, ensure_ascii=False, allow_nan=False)


@final
class SummaryFile:
    """A file of summaries as JSON lines; `with` closes it."""

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        """Open the file.

        Args:
            path: The file, which must not exist unless `resume`.
            resume: Append to the summaries of the file; a torn last line is dropped.

        Raises:
            RecipeError: If the file exists and `resume` is not set.
            DataError: If a line of the file is not a summary.
            ResourceError: If the file cannot be written.
        """
        self._done = Counter[str]()
        if path.is_file():  # /dev/stdout and the like cannot lose anything
            if not resume:
                raise RecipeError(f"{path} must not exist yet; add --resume to go on with it, or name another file")
            self._done.update(read_records(path, _parse_id, "a summary in JSON", "name another file"))
        self._file = ResumableFile(path, resume=resume, advice="go on with --resume")

    def skip_done(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Leave out documents whose summaries the file has; of equal ids each summary counts once."""
        for document in documents:
            self._done[document.id] -= 1
            if self._done[document.id] < 0:
                yield document

    def append(self, summary: Summary) -> None:
        """Append a summary.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        self._file.append(summary.as_json())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, trace)


def save_summaries(summaries: Iterable[Summary], file: SummaryFile) -> Iterator[Summary]:
    """Append each summary to a file before it is passed on, and close the file at the end."""
    with file:
        for summary in summaries:
            file.append(summary)
            yield summary


def _parse_id(line: bytes) -> str:
    return str(json.loads(line)["id"])
