"""The figures of each document on disk: `documents.jsonl`, a line a document, written as the work goes.

`evaluation.json` beside it says what was evaluated, so that lines of two evaluations never end up in one file.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import TypeAdapter, ValidationError

from sumpool.errors import DataError
from sumpool.evaluation.scorer import ScoredDocument

SCORES = "documents.jsonl"
DESCRIBED = "evaluation.json"

_LINE = TypeAdapter(ScoredDocument)


class ScoreFile:
    """An open `documents.jsonl`.

    Args:
        folder: Where it stands; made if missing.
        identity: What is evaluated and how, in plain words; must be the same to go on.
        resume: Whether to keep the lines that are there; a line that a kill cut short is dropped.

    Raises:
        DataError: If the lines that are there belong to another evaluation.
    """

    def __init__(self, folder: Path, identity: Mapping[str, str], *, resume: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / SCORES
        described = folder / DESCRIBED
        if resume and self.path.exists():
            _require_same(described, identity)
            _drop_torn_line(self.path)
        else:
            self.path.unlink(missing_ok=True)
            replace_text(described, json.dumps(dict(identity), ensure_ascii=False, indent=2) + "\n")
        self._file = self.path.open("ab")

    def read(self) -> Iterator[ScoredDocument]:
        """Read the documents that are done, one at a time.

        Raises:
            DataError: If a line is damaged.
        """
        yield from read_scores(self.path)

    def add(self, scored: ScoredDocument) -> None:
        """Append a document; a kill right after this loses nothing."""
        self._file.write(_LINE.dump_json(scored) + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def read_scores(path: Path) -> Iterator[ScoredDocument]:
    """Read the figures of each document of an evaluation, one at a time.

    Args:
        path: A `documents.jsonl`.

    Raises:
        DataError: If a line is damaged.
    """
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield _LINE.validate_json(line)
            except ValidationError as error:
                raise DataError(
                    f"{path}:{number} must be a line of scores, got {line[:60]!r}; "
                    "evaluate without --resume to start anew"
                ) from error


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f"{path.name}.partial")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _require_same(described: Path, identity: Mapping[str, str]) -> None:
    try:
        there = json.loads(described.read_bytes())
    except (OSError, ValueError):
        there = None
    if not isinstance(there, dict):
        raise DataError(
            f"{described} must say what was evaluated, got nothing readable; evaluate without --resume to start anew"
        )
    for name in sorted({*there, *identity}):
        if there.get(name) != identity.get(name):
            raise DataError(
                f"{described} must hold the same {name} to go on, got {there.get(name)!r} there and "
                f"{identity.get(name)!r} now; evaluate without --resume to start anew"
            )


def _drop_torn_line(path: Path) -> None:
    """Cut the file after its last line feed; reads backwards, so a long file costs nothing."""
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - (1 << 16))
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                file.truncate(start + found + 1)
                return
            end = start
        file.truncate(0)
