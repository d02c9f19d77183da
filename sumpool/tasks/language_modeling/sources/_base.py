"""Text source interface: documents in chunks of bounded size, with their splits where the files tell."""

import codecs
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

from pydantic import Field, model_validator

from sumpool.data.sources._base import Fields, Split
from sumpool.data.sources.parquet import ParquetSourceConfig
from sumpool.documents.document import Limits, Reject
from sumpool.documents.files import READ_ERRORS, open_unpacked, read_lines_limited
from sumpool.documents.json_lines import Line, parse_lines, text_of
from sumpool.errors import DataError
from sumpool.io.pipes import open_input
from sumpool.settings import Settings

CHUNK_CHARACTERS: Final = 1 << 20
"""Characters, or bytes, that are read at once."""
COMPRESSED: Final = (".gz", ".zst", ".xz", ".bz2")


@dataclass(frozen=True)
class TextChunk:
    """Part of a document; the parts of a document follow each other.

    Attributes:
        document: Document id.
        text: Text; with lone surrogates for bytes that are not UTF-8, if such bytes are allowed.
        split: Split of the file; None if the settings decide.
    """

    document: str
    text: str
    split: Split | None = None


class TextSourceConfig(Settings, ABC):
    """Settings of a source of running text."""

    kind: str
    path: Path | None = None
    """File or folder with all text, which `data.split` divides; * and ? are wildcards. Either `path` or `train` must be
    set."""
    train: Path | None = None
    """File or folder with the text to train on."""
    validation: Path | None = None
    """File or folder with the text of validation."""
    test: Path | None = None
    """File or folder with the text of the test."""
    max_bytes: int = Field(256 * 2**20, ge=1)
    """Largest row in bytes."""
    max_ratio: int = Field(300, ge=1)
    """Most decompressed bytes of a file for each compressed one."""

    @model_validator(mode="after")
    def _require_one_way_to_split(self) -> Self:
        if (self.path is None) == (self.train is None):
            raise ValueError("must have either path, or train with validation and test")
        if self.path and (self.validation or self.test):
            raise ValueError("must have either path, or train with validation and test, got path and one of those")
        return self

    @property
    def limits(self) -> Limits:
        """Limits of what is read from a file."""
        raise_bytes, raise_ratio = (f"; raise data.source.{name} to read it" for name in ("max_bytes", "max_ratio"))
        return Limits(self.max_bytes, self.max_ratio, raise_bytes, raise_ratio)

    @abstractmethod
    def documents(self, path: Path, *, strict: bool) -> Iterable[TextChunk | Reject]:
        """Read the documents of a file in chunks, one at a time; an unusable row is returned as a `Reject`.

        Args:
            path: The file.
            strict: Whether bytes that are not UTF-8 are an error instead of lone surrogates.

        Raises:
            DataError: If the file is missing or damaged, or not UTF-8.
        """

    def suffixes(self) -> tuple[str, ...]:
        """Return the suffixes of the files of a folder that are read, without those of compression; () takes all."""
        return (".txt",)

    def chunks(self, *, strict: bool = True) -> Iterator[TextChunk | Reject]:
        """Read all documents of all files, those of training first.

        Raises:
            DataError: As `documents`, or if a setting names no file.
        """
        for path, split in self.paths():
            for chunk in self.documents(path, strict=strict):
                yield TextChunk(chunk.document, chunk.text, split) if isinstance(chunk, TextChunk) else chunk

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files in alphabetical order, with their splits; None where the settings decide.

        Raises:
            DataError: If a setting names no file.
        """
        named: tuple[tuple[Path | None, Split | None], ...] = (
            (self.path, None),
            (self.train, "train"),
            (self.validation, "validation"),
            (self.test, "test"),
        )
        for pattern, split in named:
            if pattern is not None:
                yield from ((path, split) for path in self._matches(pattern, split or "path"))

    def _matches(self, pattern: Path, setting: str) -> list[Path]:
        root = Path(pattern.anchor)
        exists = pattern.exists() or not {*str(pattern)} & {*"*?"}
        paths = [pattern] if exists else sorted(root.glob(str(pattern.relative_to(root))))
        files = [file for path in paths for file in (self._files_in(path) if path.is_dir() else [path])]
        if not files:
            raise DataError(f"{pattern} must name a file with text, got none; check data.source.{setting}")
        return files

    def _files_in(self, folder: Path) -> list[Path]:
        return sorted(
            path
            for path in folder.rglob("*")
            if path.is_file() and (not self.suffixes() or _suffix(path) in self.suffixes())
        )

    def files(self) -> Iterator[Path]:
        """List the files that are read, so that changes to them are detected.

        Raises:
            DataError: If a setting names no file.
        """
        return (path for path, _ in self.paths())

    def revision(self) -> int:
        """Return the number of the cleaning; raising it makes prepared data stale although its files are unchanged."""
        return 0


def open_plain_or_packed(path: Path, limits: Limits) -> IO[bytes]:
    """Open a file for reading bytes; `.gz`, `.zst`, `.xz` and `.bz2` are decompressed.

    Raises:
        DataError: If the file is missing or not readable; or on reading, if it expands to too much.
    """
    try:
        file = open_input(path)
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error.strerror}; check the path") from error
    return open_unpacked(file, path, limits) if path.suffix in COMPRESSED else file


def read_chunks(path: Path, limits: Limits, *, strict: bool) -> Iterator[str]:
    """Read the text of a file in chunks of bounded size.

    Args:
        path: The file.
        limits: Limits of decompression.
        strict: Whether bytes that are not UTF-8 are an error; otherwise they become lone surrogates.

    Raises:
        DataError: If the file is missing, damaged, or not UTF-8.
    """
    name = "utf-8-sig" if strict else "utf-8"
    decoder = codecs.getincrementaldecoder(name)("strict" if strict else "surrogateescape")
    position = 0
    try:
        with open_plain_or_packed(path, limits) as file:
            while content := file.read(CHUNK_CHARACTERS):
                if text := decoder.decode(content):
                    yield text
                position += len(content)
            if text := decoder.decode(b"", final=True):
                yield text
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(
            f"{path} must be UTF-8, got byte 0x{byte:02x} near position {position + error.start:,}; convert it, or set "
            "data.vocabulary to bytes"
        ) from error
    except READ_ERRORS as error:
        raise DataError(f"{path} must be complete, got: {error} after byte {position:,}; get the file again") from error


def _suffix(path: Path) -> str:
    return (Path(path.stem) if path.suffix in COMPRESSED else path).suffix.lower()


def json_texts(path: Path, limits: Limits, field: str) -> Iterator[TextChunk | Reject]:
    """Read the texts of JSON lines.

    Raises:
        DataError: If the file is missing or damaged, or a row is too long.
    """
    return _texts(parse_lines(str(path), _lines(path, limits)), field)


def parquet_texts(path: Path, limits: Limits, column: str) -> Iterator[TextChunk | Reject]:
    """Read the texts of a Parquet file.

    Raises:
        DataError: If the file is missing or damaged, or has no such column.
        RecipeError: If pyarrow is not installed.
    """
    source = ParquetSourceConfig(
        path=path, document=column, summary=column, max_bytes=limits.max_bytes, max_ratio=limits.max_ratio
    )
    source.fields_of(path)  # the file has the column
    return _texts(source.lines(path, Fields(column, column, None)), column)


def _lines(path: Path, limits: Limits) -> Iterator[bytes]:
    with open_plain_or_packed(path, limits) as file:
        yield from read_lines_limited(file, limits, str(path))


def _texts(rows: Iterable[Line | Reject], field: str) -> Iterator[TextChunk | Reject]:
    for row in rows:
        if isinstance(row, Reject):
            yield row
            continue
        try:
            text = text_of(row.fields, field)
        except ValueError as error:
            yield Reject(row.where, str(error))
            continue
        for start in range(0, len(text), CHUNK_CHARACTERS):
            yield TextChunk(row.where, text[start : start + CHUNK_CHARACTERS])
