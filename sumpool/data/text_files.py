"""First pass of the preparation of running text: normalised text in temporary files, divided into splits."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from sumpool.data.running_text import RunningText
from sumpool.data.sources._base import SPLITS, Split, hash_split
from sumpool.data.text_config import TextDataConfig
from sumpool.data.text_sources._base import TextChunk
from sumpool.documents.document import Reject
from sumpool.errors import DataError
from sumpool.progress import Check, Progress, Report

_CHUNK: Final = 1 << 20
_WHOLE: Final = "whole"
"""Name of the file that is divided by position."""
_TASK: Final = "prepare: read"


@dataclass(frozen=True)
class TextFiles:
    """Normalised text in files.

    Attributes:
        parts: File of each split, with its first and its last character, exclusive.
        documents: Documents of each split.
        kept: Documents that were read.
        rejected: Rows that could not be used.
    """

    parts: Mapping[Split, tuple[Path, int, int]]
    documents: Mapping[Split, int]
    kept: int
    rejected: int

    @property
    def characters(self) -> dict[Split, int]:
        """Characters of each split."""
        return {split: stop - start for split, (_, start, stop) in self.parts.items()}

    def read(self, split: Split, check: Check) -> Iterator[str]:
        """Read the text of a split part by part; `check` is called before each part."""
        path, start, stop = self.parts[split]
        with _open(path, "r") as file:
            place = 0
            while place < stop and (text := file.read(min(_CHUNK, stop - place))):
                check()
                if place + len(text) > start:
                    yield text[max(start - place, 0) :]
                place += len(text)


class _Writer:
    """Normaliser and file of one text, up to a number of characters."""

    def __init__(self, path: Path, file: TextIO, config: TextDataConfig, limit: int | None) -> None:
        self.path = path
        self.characters = 0
        self.documents = 0
        self._file = file
        self._text = RunningText(config.clean) if config.clean else None
        self._limit = limit
        self._document = ""

    @property
    def is_full(self) -> bool:
        return self._limit is not None and self.characters >= self._limit

    def add(self, chunk: TextChunk) -> None:
        """Append a part of a document; documents are separated by a line end."""
        text = chunk.text
        if chunk.document != self._document:
            text = f"\n{text}" if self.documents else text
            self.documents += 1
            self._document = chunk.document
        self._write(self._text.add(text) if self._text else text)

    def finish(self) -> None:
        """Append the end of the text."""
        self._write(self._text.finish() if self._text else "")

    def _write(self, text: str) -> None:
        if self._limit is not None:
            text = text[: max(self._limit - self.characters, 0)]
        self.characters += len(text)
        self._file.write(text)


def write_text_files(
    config: TextDataConfig, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check
) -> TextFiles:
    """Read, normalise and divide the text of a source, in bounded memory.

    Raises:
        DataError: If a row cannot be used and `skip_bad_rows` is false, or a split has fewer than two characters.
    """
    by_position = config.source.path is not None and config.split == "position"
    names: tuple[str, ...] = (_WHOLE,) if by_position else SPLITS
    rejected = 0
    with ExitStack() as stack:
        writers = {name: _writer(config, folder / f"{name}.txt", name, stack) for name in names}
        for chunk in config.source.chunks(strict=config.vocabulary != "bytes"):
            check()
            if isinstance(chunk, Reject):
                if not skip_bad_rows:
                    where = f"{chunk.where}: {chunk.reason}"
                    raise DataError(f"{where}; correct it, or skip such rows with --skip-bad-rows")
                rejected += 1
                continue
            split = chunk.split or hash_split(chunk.document, config.validation_share, config.test_share)
            writer = writers[_WHOLE if by_position else split]
            if not writer.is_full:
                writer.add(chunk)
            elif by_position or (config.source.path and all(other.is_full for other in writers.values())):
                break
            report(Progress(_TASK, sum(writer.characters for writer in writers.values())))
        for writer in writers.values():
            writer.finish()
        read = sum(writer.characters for writer in writers.values())
        report(Progress(_TASK, read, read))
    files = _divide(writers[_WHOLE], config, rejected) if by_position else _one_each(writers, rejected)
    for name, count in files.characters.items():
        if count < 2:
            raise DataError(f"the {name} split must hold at least two characters, got {count}; take more text")
    return files


def _divide(writer: _Writer, config: TextDataConfig, rejected: int) -> TextFiles:
    """Divide a text by position: training, validation, test."""
    total = writer.characters
    test = round(total * config.test_share)
    validation = round(total * config.validation_share)
    cuts = (0, total - validation - test, total - test, total)
    parts = {split: (writer.path, start, stop) for split, start, stop in zip(SPLITS, cuts, cuts[1:], strict=False)}
    counts: dict[Split, int] = {"train": writer.documents, "validation": 0, "test": 0}
    return TextFiles(parts, counts, writer.documents, rejected)


def _one_each(writers: Mapping[str, _Writer], rejected: int) -> TextFiles:
    parts = {split: (writers[split].path, 0, writers[split].characters) for split in SPLITS}
    documents = {split: writers[split].documents for split in SPLITS}
    return TextFiles(parts, documents, sum(documents.values()), rejected)


def _writer(config: TextDataConfig, path: Path, name: str, stack: ExitStack) -> _Writer:
    evaluated = name in ("validation", "test")
    limit = config.max_evaluation_characters if evaluated else config.max_characters
    return _Writer(path, stack.enter_context(_open(path, "w")), config, limit)


def _open(path: Path, mode: str) -> TextIO:
    return path.open(mode, encoding="utf-8", errors="surrogateescape", newline="")  # type: ignore[return-value]
