"""Source of running text: documents with their splits, where the files tell.

Files of a layout, compressed or not; a folder stands for its files:

    plain     each file is a document, such as text8
    cc100     CC-100 (Conneau et al., 2020): documents that are separated by blank lines, usually in `.txt.xz`
    wiki40b   Wiki-40B (Guo et al., 2020): articles with structural marks, rows of Parquet files with a column `text`

An article of Wiki-40B begins with the line `_START_ARTICLE_` and its title, then `_START_SECTION_` and
`_START_PARAGRAPH_`; `_NEWLINE_` stands for a line end. The marks become line ends. Texts that are Python literals of
bytes are decoded.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import IO, Final, Literal, final

from sumpool.data.config import Split, SplitFilesConfig
from sumpool.data.sources import ParquetSourceConfig, read_parquet
from sumpool.documents.document import DEFAULT_LIMITS, Reject
from sumpool.documents.files import READ_ERRORS, open_input, open_unpacked, read_lines_limited
from sumpool.documents.rows import text_of
from sumpool.errors import DataError

_COMPRESSED: Final = (".gz", ".zst", ".xz", ".bz2")
_MARKS = re.compile(r"\s*_(?:START_ARTICLE|START_SECTION|START_PARAGRAPH|NEWLINE)_\s*")
_LITERAL = re.compile(r"""b(['"])(?:[^\\]|\\.)*\1""", re.DOTALL)


@final
class TextSourceConfig(SplitFilesConfig):
    """Files of running text; a folder stands for its files, and `path` is divided by position."""

    kind: Literal["plain", "cc100", "wiki40b"]
    """Layout of the files."""

    def documents(self) -> Iterator[tuple[Split | None, str] | Reject]:
        """Read all documents of all files with their splits, those of training first; an unusable row is a `Reject`.

        Raises:
            DataError: If a setting names no file, or a file is missing, damaged or not UTF-8, has no column of texts,
                or a line is too long.
            RecipeError: If pyarrow is not installed.
        """
        for path, split in self.paths():
            texts = _articles(path) if self.kind == "wiki40b" else _texts(path, divided=self.kind == "cc100")
            for text in texts:
                yield text if isinstance(text, Reject) else (split, text)

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files, and those of folders by their suffixes, with their splits.

        Raises:
            DataError: If a pattern matches no file.
        """
        for path, split in super().paths():
            if not path.is_dir():
                yield path, split
                continue
            for file in sorted(file for file in path.rglob("*") if file.is_file()):
                suffix = (Path(file.stem) if file.suffix in _COMPRESSED else file).suffix.lower()
                if suffix == (".parquet" if self.kind == "wiki40b" else ".txt"):
                    yield file, split

    def files(self) -> Iterator[Path]:
        """List the files that are read, so that changes to them are detected.

        Raises:
            DataError: If a setting names no file.
        """
        return (path for path, _ in self.paths())


def _articles(path: Path) -> Iterator[str | Reject]:
    """Read the articles of a Parquet file, one in a row."""
    ParquetSourceConfig(path=path, document="text", summary="text").fields_of(path)  # the file has the column
    for row in read_parquet(path, ["text"]):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            text = text_of(row.fields, "text")
        except ValueError as error:
            yield Reject(row.where, str(error))
            continue
        if _LITERAL.fullmatch(text):
            with suppress(ValueError, SyntaxError):  # not a literal, or not UTF-8
                content: bytes = ast.literal_eval(text)
                text = content.decode()
        yield _MARKS.sub("\n", text)


def _texts(path: Path, *, divided: bool) -> Iterator[str]:
    """Read the text of a file, or the documents between its blank lines."""
    try:
        file: IO[bytes] = open_input(path)
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error.strerror}; check the path") from error
    try:
        with open_unpacked(file, path) if path.suffix in _COMPRESSED else file as content:
            if not divided:
                yield content.read().decode("utf-8-sig")
                return
            lines = read_lines_limited(content, DEFAULT_LIMITS, str(path))
            for has_text, document in groupby(lines, lambda line: bool(line.strip())):
                if has_text:
                    yield "".join(line.decode("utf-8-sig") for line in document)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} must be UTF-8, got byte 0x{error.object[error.start]:02x}; convert it") from error
    except READ_ERRORS as error:
        raise DataError(f"{path} must be complete, got: {error}; get the file again") from error
