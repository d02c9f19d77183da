"""Summaries and the file that they are written to, line by line, so that a run that stops loses one line at most."""

import json
import os
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, final

from sumpool.errors import DataError, RecipeError, ResourceError


@dataclass(frozen=True)
class Summary:
    """What became of one document.

    Attributes:
        id: Name of the document.
        summary: The text; empty if there is a reason.
        score: sum(log p) / length ** length_penalty, in nats, of what the model wrote; None if there is no summary.
        tokens_read: Tokens of the document that the model read.
        tokens_total: Tokens of the document.
        seconds: Its share of the time.
        reason: Why the summary is empty; empty otherwise.
        mode: What the summary is, "abstractive" or "extractive".
    """

    id: str
    summary: str
    score: float | None
    tokens_read: int
    tokens_total: int
    seconds: float
    reason: str = ""
    mode: str = "abstractive"

    def as_json(self) -> str:
        """Write the summary as one line of JSON, without the line feed."""
        rounded = {
            "seconds": round(self.seconds, 4),
            "score": self.score if self.score is None else round(self.score, 6),
        }
        return json.dumps(asdict(self) | rounded, ensure_ascii=False, allow_nan=False)


@final
class SummaryFile:
    """A file of summaries as JSON lines; `with` closes it."""

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        """Open the file.

        Args:
            path: The file, which must not exist unless `resume`.
            resume: Go on after the summaries that the file holds; a last line that was not finished is dropped.

        Raises:
            RecipeError: If the file is there and `resume` is not asked for.
            DataError: If a line of the file is no summary.
            ResourceError: If the file cannot be written.
        """
        self.path = path
        self._done = Counter[str]()
        there = path.is_file()  # /dev/stdout and the like are no files that anything could be lost from
        if there and not resume:
            raise RecipeError(f"{path} must not exist yet; add --resume to go on with it, or name another file")
        try:
            if there:
                os.truncate(path, self._count_done())
            self._file = path.open("ab")
        except OSError as error:
            raise ResourceError(f"{path} must be a file that can be written, got: {error}") from error

    def is_done(self, id: str) -> bool:
        """Take note of a document and say whether its summary was there; of equal names each counts once."""
        self._done[id] -= 1
        return self._done[id] >= 0

    def add(self, summary: Summary) -> None:
        """Append a summary and hand it to the operating system.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        try:
            # a lone surrogate, as in a file name that is no UTF-8, becomes the JSON escape that stands for it
            self._file.write((summary.as_json() + "\n").encode("utf-8", errors="backslashreplace"))
            self._file.flush()
        except OSError as error:
            raise ResourceError(
                f"{self.path} must be writable to the end, got: {error}; go on with --resume"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # closing writes once more what could not be written; the first error says it all
        with suppress(OSError) if error else nullcontext():
            self._file.close()

    def _count_done(self) -> int:
        """Count the summaries that are there; return where the last whole line ends."""
        whole = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                try:
                    self._done[str(json.loads(line)["id"])] += 1
                except (ValueError, LookupError, TypeError) as error:
                    message = f"{self.path}:{number} must be a summary in JSON, got {error!r}; name another file"
                    raise DataError(message) from error
                whole += len(line)
        return whole
