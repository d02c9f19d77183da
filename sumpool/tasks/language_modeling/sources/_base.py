"""Text source interface: documents in chunks of bounded size, with their splits where the files tell."""

import codecs
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Final

from sumpool.data.inputs import Split, SplitFilesConfig
from sumpool.data.sources._base import Fields
from sumpool.data.sources.parquet import ParquetSourceConfig
from sumpool.documents.document import DEFAULT_LIMITS, Reject
from sumpool.documents.files import READ_ERRORS, open_input, open_unpacked, read_lines_limited
from sumpool.documents.json_lines import Line, parse_lines, text_of
from sumpool.errors import DataError

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


class TextSourceConfig(SplitFilesConfig, ABC):
    """Settings of a source of running text; a folder stands for its files, and `data.split` divides `path`.

    Attributes:
        suffixes: Suffixes of the files of a folder that are read, without those of compression.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".txt",)

    @abstractmethod
    def documents(self, path: Path, *, strict: bool) -> Iterable[TextChunk | Reject]:
        """Read the documents of a file in chunks, one at a time; an unusable row is returned as a `Reject`.

        Args:
            path: The file.
            strict: Whether bytes that are not UTF-8 are an error instead of lone surrogates.

        Raises:
            DataError: If the file is missing or damaged, or not UTF-8.
        """

    def chunks(self, *, strict: bool = True) -> Iterator[TextChunk | Reject]:
        """Read all documents of all files, those of training first.

        Raises:
            DataError: As `documents`, or if a setting names no file.
        """
        for path, split in self.paths():
            for chunk in self.documents(path, strict=strict):
                yield TextChunk(chunk.document, chunk.text, split) if isinstance(chunk, TextChunk) else chunk

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files, and those of folders by their suffixes, with their splits.

        Raises:
            DataError: If a pattern matches no file.
        """
        for path, split in super().paths():
            files = sorted(file for file in path.rglob("*") if file.is_file() and self._is_text(file))
            yield from ((file, split) for file in (files if path.is_dir() else [path]))

    def _is_text(self, path: Path) -> bool:
        suffix = (Path(path.stem) if path.suffix in COMPRESSED else path).suffix.lower()
        return suffix in self.suffixes

    def files(self) -> Iterator[Path]:
        """List the files that are read, so that changes to them are detected.

        Raises:
            DataError: If a setting names no file.
        """
        return (path for path, _ in self.paths())


def open_plain_or_packed(path: Path) -> IO[bytes]:
    """Open a file for reading bytes; `.gz`, `.zst`, `.xz` and `.bz2` are decompressed.

    Raises:
        DataError: If the file is missing or not readable; or on reading, if it expands to too much.
    """
    file = open_input(path)
    return open_unpacked(file, path) if path.suffix in COMPRESSED else file


def read_chunks(path: Path, *, strict: bool) -> Iterator[str]:
    """Read the text of a file in chunks of bounded size.

    Args:
        path: The file.
        strict: Whether bytes that are not UTF-8 are an error; otherwise they become lone surrogates.

    Raises:
        DataError: If the file is missing, damaged, or not UTF-8.
    """
    name = "utf-8-sig" if strict else "utf-8"
    decoder = codecs.getincrementaldecoder(name)("strict" if strict else "surrogateescape")
    position = 0
    try:
        with open_plain_or_packed(path) as file:
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


def json_texts(path: Path, field: str) -> Iterator[TextChunk | Reject]:
    """Read the texts of JSON lines.

    Raises:
        DataError: If the file is missing or damaged, or a row is too long.
    """
    return _texts(parse_lines(str(path), _lines(path)), field)


def parquet_texts(path: Path, column: str) -> Iterator[TextChunk | Reject]:
    """Read the texts of a Parquet file.

    Raises:
        DataError: If the file is missing or damaged, or has no such column.
        RecipeError: If pyarrow is not installed.
    """
    source = ParquetSourceConfig(path=path, document=column, summary=column)
    source.fields_of(path)  # the file has the column
    return _texts(source.lines(path, Fields(column, column, None)), column)


def _lines(path: Path) -> Iterator[bytes]:
    with open_plain_or_packed(path) as file:
        yield from read_lines_limited(file, DEFAULT_LIMITS, str(path))


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
