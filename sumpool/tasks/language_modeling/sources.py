"""Source of running text: documents in chunks of bounded size, with their splits where the files tell.

Files of a layout, compressed or not; a folder stands for its files:

    plain     each file is a document, such as text8 or enwik8
    cc100     CC-100 (Conneau et al., 2020): documents that are separated by blank lines, usually in `.txt.xz`
    wiki40b   Wiki-40B (Guo et al., 2020): articles with structural marks, as text of TensorFlow Datasets, JSON lines
              or Parquet, by the suffix

An article of Wiki-40B begins with the line `_START_ARTICLE_` and its title, then `_START_SECTION_` and
`_START_PARAGRAPH_`; `_NEWLINE_` stands for a line end. The marks become line ends. Texts that are Python literals of
bytes are decoded.
"""

import ast
import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final, Literal, final

from sumpool.data.config import Fields, Split, SplitFilesConfig
from sumpool.data.sources import ParquetSourceConfig
from sumpool.documents.document import DEFAULT_LIMITS, Reject
from sumpool.documents.files import READ_ERRORS, open_input, open_unpacked, read_lines_limited
from sumpool.documents.rows import Line, parse_lines, text_of
from sumpool.errors import DataError

CHUNK_CHARACTERS: Final = 1 << 20
"""Characters, or bytes, that are read at once."""
_COMPRESSED: Final = (".gz", ".zst", ".xz", ".bz2")
_ROWS: Final = (".jsonl", ".ndjson", ".parquet")
_ARTICLE: Final = "_START_ARTICLE_"
_MARKS = re.compile(r"\s*_(?:START_ARTICLE|START_SECTION|START_PARAGRAPH|NEWLINE)_\s*")
_LONGEST_MARK: Final = 64
"""Characters at the end of a chunk that may be part of a mark and the white space around it."""
_LITERAL = re.compile(r"""b(['"])(?:[^\\]|\\.)*\1""", re.DOTALL)


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


@final
class TextSourceConfig(SplitFilesConfig):
    """Files of running text; a folder stands for its files, and `path` is divided by position."""

    kind: Literal["plain", "cc100", "wiki40b"]
    """Layout of the files."""
    text: str = "text"
    """Field or column of the text in JSON lines and Parquet of wiki40b."""

    def chunks(self, *, strict: bool = True) -> Iterator[TextChunk | Reject]:
        """Read all documents of all files in chunks, those of training first; an unusable row is a `Reject`.

        Args:
            strict: Whether bytes that are not UTF-8 are an error instead of lone surrogates.

        Raises:
            DataError: If a setting names no file, or a file is missing, damaged or not UTF-8, has no column of texts,
                or a line is too long.
            RecipeError: If pyarrow is not installed.
        """
        for path, split in self.paths():
            chunks: Iterable[TextChunk | Reject]
            if self.kind == "plain":
                chunks = (TextChunk(str(path), text) for text in _read(path, strict))
            elif self.kind == "cc100":
                chunks = _paragraphs(path, strict)
            elif {*path.suffixes[-2:]} & {*_ROWS}:
                chunks = self._rows(path)
            else:
                chunks = _articles(path, strict)
            yield from (chunk if isinstance(chunk, Reject) else replace(chunk, split=split) for chunk in chunks)

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files, and those of folders by their suffixes, with their splits.

        Raises:
            DataError: If a pattern matches no file.
        """
        suffixes = (".txt", *_ROWS) if self.kind == "wiki40b" else (".txt",)
        for path, split in super().paths():
            if not path.is_dir():
                yield path, split
                continue
            for file in sorted(file for file in path.rglob("*") if file.is_file()):
                if (Path(file.stem) if file.suffix in _COMPRESSED else file).suffix.lower() in suffixes:
                    yield file, split

    def files(self) -> Iterator[Path]:
        """List the files that are read, so that changes to them are detected.

        Raises:
            DataError: If a setting names no file.
        """
        return (path for path, _ in self.paths())

    def _rows(self, path: Path) -> Iterator[TextChunk | Reject]:
        """Read the articles of JSON lines or a Parquet file, one in a row."""
        rows: Iterable[Line | Reject]
        if ".parquet" in path.suffixes[-2:]:
            source = ParquetSourceConfig(path=path, document=self.text, summary=self.text)
            source.fields_of(path)  # the file has the column
            rows = source.lines(path, Fields(self.text, self.text, None))
        else:
            rows = parse_lines(str(path), _lines(path))
        for row in rows:
            if isinstance(row, Reject):
                yield row
                continue
            try:
                text = text_of(row.fields, self.text)
            except ValueError as error:
                yield Reject(row.where, str(error))
                continue
            if _LITERAL.fullmatch(text):
                try:
                    content: bytes = ast.literal_eval(text)
                    text = content.decode()
                except (ValueError, SyntaxError):  # not a literal, or not UTF-8
                    pass
            text = _MARKS.sub("\n", text)
            for start in range(0, len(text), CHUNK_CHARACTERS):
                yield TextChunk(row.where, text[start : start + CHUNK_CHARACTERS])


def _lines(path: Path) -> Iterator[bytes]:
    with _open(path) as file:
        yield from read_lines_limited(file, DEFAULT_LIMITS, str(path))


def _open(path: Path) -> IO[bytes]:
    """Open a file for reading bytes; a compressed one is decompressed."""
    try:
        file = open_input(path)
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error.strerror}; check the path") from error
    return open_unpacked(file, path) if path.suffix in _COMPRESSED else file


def _read(path: Path, strict: bool) -> Iterator[str]:
    """Read the text of a file in chunks; where not strict, bytes that are not UTF-8 become lone surrogates."""
    name = "utf-8-sig" if strict else "utf-8"
    decoder = codecs.getincrementaldecoder(name)("strict" if strict else "surrogateescape")
    position = 0
    try:
        with _open(path) as file:
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


def _paragraphs(path: Path, strict: bool) -> Iterator[TextChunk]:
    """Read the documents between blank lines; their ids are the numbers of their first lines."""
    name, lines, size = "", list[str](), 0
    for number, line in enumerate(_text_lines(path, strict), 1):
        if line.strip():
            name = name or f"{path}:{number}"
            lines.append(line)
            size += len(line)
        if lines and (size >= CHUNK_CHARACTERS or not line.strip()):
            yield TextChunk(name, "".join(lines))
            lines, size = [], 0
        if not line.strip():
            name = ""
    if lines:
        yield TextChunk(name, "".join(lines))


def _text_lines(path: Path, strict: bool) -> Iterator[str]:
    rest = ""
    for text in _read(path, strict):
        *lines, rest = (rest + text).split("\n")
        yield from (f"{line}\n" for line in lines)
        if len(rest) > DEFAULT_LIMITS.max_bytes:
            raise DataError(
                f"{path} must have lines of at most {DEFAULT_LIMITS.max_bytes:,} bytes, got a longer one; divide it"
            )
    if rest:
        yield rest


def _articles(path: Path, strict: bool) -> Iterator[TextChunk]:
    """Divide a text at the marks of Wiki-40B; an article of any length is read in chunks."""
    number, rest = 0, ""
    for text in _read(path, strict):
        begun, *articles = (rest + text).split(_ARTICLE)
        for article in articles:
            yield TextChunk(f"{path}:article {number}", _MARKS.sub("\n", begun))
            number, begun = number + 1, article
        # The rest may be cut within a mark; a line of the article goes on with the next chunk.
        cut = max(begun.rfind("\n", 0, max(len(begun) - _LONGEST_MARK, 0)), 0)
        yield TextChunk(f"{path}:article {number}", _MARKS.sub("\n", begun[:cut]))
        rest = begun[cut:]
    yield TextChunk(f"{path}:article {number}", _MARKS.sub("\n", rest))
