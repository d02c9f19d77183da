"""Sources of documents with summaries: files of rows, folders of texts, published datasets, and the RFC series.

Files of rows, `jsonl`, `csv`, `parquet` and `datasets`, have a document with its summary in each row, in named fields:
the keys of a JSON object, or the columns of a table. All rows are in the file `path`, or each split has its file.
"""

import csv
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, final

from pydantic import Field

from sumpool.data.config import SPLITS, Example, Fields, SourceConfig, Split, SplitFilesConfig, hash_split
from sumpool.documents.document import DEFAULT_LIMITS
from sumpool.documents.files import (
    READ_ERRORS,
    check_ratio,
    decode,
    open_bytes,
    open_unpacked,
    read_limited,
    read_lines_limited,
    uncompressed_suffix,
)
from sumpool.documents.rows import (
    DOCUMENT_FIELDS,
    ID_FIELDS,
    SUMMARY_FIELDS,
    Line,
    Reject,
    guess_field,
    guess_separator,
    read_lines,
    text_of,
    unpacked_bytes,
)
from sumpool.errors import DataError, RecipeError, first_line
from sumpool.io.bounded import open_regular, parse_json, read_json, read_regular
from sumpool.text.sentences import SentenceSplitter


class FilesSourceConfig(SplitFilesConfig, SourceConfig, ABC):
    """Settings shared by sources of files of rows; `path` is split by a hash of the ids."""

    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path`, or of those of `train` where no file is for validation, used for
    validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents of `path` used for testing."""
    id: str | None = None
    """Field of the id; by default the first usual name (id, article_id, ...) in the file, else `file:row`."""

    document_setting: ClassVar[str] = "document"
    target_setting: ClassVar[str] = "summary"
    target_fields: ClassVar[tuple[str, ...]] = SUMMARY_FIELDS

    is_table: ClassVar[bool] = True
    """Whether all rows have the same fields, so that a missing one is an error of the file."""

    @abstractmethod
    def names(self, path: Path) -> Iterable[str]:
        """Return the names of the fields of a file, those of the first row where rows differ; none if it is empty.

        Raises:
            DataError: If the file cannot be read.
            RecipeError: If a library is not installed.
        """

    @abstractmethod
    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the rows of a file.

        Raises:
            DataError: If the file is missing or damaged.
            RecipeError: If a library is not installed.
        """

    @abstractmethod
    def texts_of(self, row: Mapping[str, object], fields: Fields) -> tuple[str, ...]:
        """Return document and summary of a row, or document, label and a second document.

        Raises:
            ValueError: If a field is missing or of another type; the message lacks the location.
        """

    def rows(self) -> Iterator[Example | Reject]:
        """Read all rows of all files; invalid rows are rejected.

        Raises:
            DataError: If a file is missing or damaged, or lacks a field for document or summary.
        """
        paths = list(self.paths())
        has_validation = any(split == "validation" for _, split in paths)
        for path, split in paths:
            fields = self.fields_of(path)
            for line in self.lines(path, fields):
                if isinstance(line, Reject):
                    yield line
                    continue
                try:
                    name = line.where
                    if fields.id is not None:  # a text or a whole number
                        value = line.fields.get(fields.id)
                        is_number = isinstance(value, int) and not isinstance(value, bool)
                        name = str(value) if is_number else text_of(line.fields, fields.id)
                    document, target, *second = self.texts_of(line.fields, fields)
                except ValueError as error:
                    yield Reject(line.where, str(error))
                    continue
                assigned = split or hash_split(name, self.validation_share, self.test_share)
                if split == "train" and not has_validation:
                    assigned = hash_split(name, self.validation_share, 0)
                yield Example(name, document, target, assigned, "".join(second), line.where)

    def notes(self) -> Iterator[str]:
        """Return a message per file with guessed field names.

        Raises:
            DataError: As `rows`.
        """
        for path, _ in self.paths():
            fields = self.fields_of(path)
            if None in (getattr(self, self.document_setting), getattr(self, self.target_setting), self.id):
                target = f"{fields.summary!r} as {self.target_setting}"
                id_field = f"{fields.id!r} as id" if fields.id else "the location in the file as id"
                yield f"{path}: read {fields.document!r} as document, {target} and {id_field}"

    def field_names(self) -> Fields | None:
        """Return the field names of the first file, guessed or set.

        Raises:
            DataError: As `rows`.
        """
        return next((self.fields_of(path) for path, _ in self.paths()), None)

    def fields_of(self, path: Path) -> Fields:
        """Return the field names of a file, guessing those that are not set.

        Raises:
            DataError: If the file cannot be read, or lacks a field for document or summary.
            RecipeError: If a library is not installed.
        """
        names = dict.fromkeys(self.names(path))
        document = getattr(self, self.document_setting) or guess_field(names, DOCUMENT_FIELDS)
        target = getattr(self, self.target_setting) or guess_field(names, self.target_fields)
        if names and not (document and target):
            missing = self.target_setting if document else self.document_setting
            option = f" (init: --{missing} NAME)" if self.target_setting == "summary" else ""
            raise DataError(
                f"{path} must have a field that looks like a {missing}, got {_quoted(names)}; "
                f"set data.source.{missing} to its name{option}"
            )
        id_field = self.id or guess_field(names, ID_FIELDS)
        fields = Fields(document or self.document_setting, target or self.target_setting, id_field)
        for setting, name in vars(fields).items() if names and self.is_table else ():
            if name not in {*names, None}:
                raise DataError(
                    f"{path} must have a column {name!r}, got {_quoted(names)}; set data.source.{setting} to its name"
                )
        return fields


def _quoted(names: Iterable[str]) -> str:
    """Quote and join at most twelve names."""
    return ", ".join(map(repr, list(names)[:12]))


class FieldsSourceConfig(FilesSourceConfig, ABC):
    """Settings shared by sources of rows with named fields."""

    document: str | None = None
    """Field of the document; by default the first usual name (document, article, text, ...) in the file."""
    summary: str | None = None
    """Field of the summary; by default the first usual name (summary, abstract, highlights, ...) in the file."""

    def texts_of(self, row: Mapping[str, object], fields: Fields) -> tuple[str, ...]:
        """Return document and summary of a row."""
        return text_of(row, fields.document), text_of(row, fields.summary)


@final
class JsonlSourceConfig(FieldsSourceConfig):
    """JSON lines files, one for all splits or one per split, which may be compressed (.gz, .zst)."""

    kind: Literal["jsonl"] = "jsonl"

    is_table: ClassVar[bool] = False

    def names(self, path: Path) -> Iterable[str]:
        """Return the names of the fields of the first valid line."""
        return next((line.fields for line in read_lines(path) if isinstance(line, Line)), {})

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the lines of a file."""
        del fields
        return read_lines(path)


@final
class CsvSourceConfig(FieldsSourceConfig):
    """Tables in text files (CSV, TSV), one for all splits or one per split, which may be compressed (.gz, .zst).

    A header line names the columns. Cells are quoted as spreadsheets do it, and separated by commas, semicolons, tabs
    or bars, as the header shows.
    """

    kind: Literal["csv"] = "csv"
    quotes: bool = True
    """Whether cells may be in double quotes, in which separators and line breaks are text."""

    def names(self, path: Path) -> Iterable[str]:
        """Return the column names of a file."""
        return read_header(path, quotes=self.quotes)

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the rows of a file; the location of a row is its first line."""
        del fields
        return read_rows(path, quotes=self.quotes)


MAX_CELL = 1 << 26
"""Characters of a cell of a table in text; Python's default, 131,072, is less than a book."""


def read_rows(path: Path, *, quotes: bool = True) -> Iterator[Line | Reject]:
    """Read the rows of a table in text below its header; the location of a row is its first line.

    Raises:
        DataError: If the file is missing or truncated, or its header cannot be read.
    """
    with open_bytes(path) as file:
        rows = _cells(path, file, quotes=quotes)
        header = _header(rows, path)
        for where, cells in rows:
            if isinstance(cells, str):
                yield Reject(where, cells)
            elif len(cells) == len(header):
                yield Line(where, dict(zip(header, cells, strict=True)))
            else:
                yield Reject(where, f"must have {len(header)} cells like the header, got {len(cells)}")


def read_header(path: Path, *, quotes: bool = True) -> Sequence[str]:
    """Return the column names of a table in text; empty if the file is.

    Raises:
        DataError: If the file or its header cannot be read, or a name is repeated.
    """
    with open_bytes(path) as file:
        return _header(_cells(path, file, quotes=quotes), path)


def _header(rows: Iterator[tuple[str, Sequence[str] | str]], path: Path) -> Sequence[str]:
    where, header = next(rows, (str(path), []))
    if isinstance(header, str):
        raise DataError(f"{where} {header}")
    repeated = [name for number, name in enumerate(header) if name in header[:number]]
    if repeated:
        raise DataError(f"{where} must have different column names, got {repeated[0]!r} twice")
    return header


def _cells(path: Path, file: IO[bytes], *, quotes: bool) -> Iterator[tuple[str, Sequence[str] | str]]:
    """Read the rows of a file: location and cells, or location and the reason why there are none."""
    number, fault = 0, ""
    lines = read_lines_limited(file, DEFAULT_LIMITS, str(path))

    def decoded() -> Iterator[str]:
        """Decode line by line; an undecodable line is read in part, and its row becomes a fault."""
        nonlocal number, fault
        for line in chain(first, lines):
            number += 1
            try:
                yield decode(line)
            except ValueError as error:
                fault = fault or f"{error} (line {number})"
                yield line.decode(errors="replace").replace("\0", "")

    csv.field_size_limit(max(MAX_CELL, csv.field_size_limit()))  # a setting of the process, which only grows
    try:
        first = list(islice(lines, 1))
        kind = "tsv" if uncompressed_suffix(path) in (".tsv", ".tab") else "csv"
        separator = guess_separator(b"".join(first).decode(errors="replace"), kind)
        reader = csv.reader(
            decoded(), delimiter=separator, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE, strict=True
        )
        while True:
            where, fault = f"{path}:{number + 1}", ""
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                problem = f"{error} in line {number}"
                if str(error) == "unexpected end of data":
                    problem = (
                        "a double quote that is never closed; set data.source.quotes=false if quotes are plain text"
                    )
                yield where, f"must be a row of cells, got: {problem}"
                continue
            if cells:  # no empty line
                yield where, fault or cells
    except READ_ERRORS as error:
        raise DataError(f"{path} must be complete, got: {error} after line {number}; get the file again") from error


@final
class ParquetSourceConfig(FieldsSourceConfig):
    """Parquet files, for all splits or per split; requires pyarrow (extra `parquet`)."""

    kind: Literal["parquet"] = "parquet"

    def names(self, path: Path) -> Iterable[str]:
        """Return the column names of a file."""
        names: list[str] = open_parquet(path).schema_arrow.names
        return names

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the columns of the given fields row by row."""
        return read_parquet(path, [name for name in (fields.document, fields.summary, fields.id) if name])


_BATCH_ROWS = 64
_BUFFER_BYTES = 2**20
"""Read-ahead per column; without a buffer, pyarrow reads whole row groups."""


def _require_pyarrow(kind: str) -> type[Exception]:
    """Check that pyarrow is installed, and return the class of its errors."""
    try:
        from pyarrow import ArrowException
    except ImportError as error:
        raise RecipeError(
            f"data.source of kind {kind} must have pyarrow, which is not installed: pip install 'sumpool[parquet]'"
        ) from error
    exception: type[Exception] = ArrowException
    return exception


def open_parquet(path: Path) -> Any:  # noqa: ANN401 - pyarrow is untyped
    """Open a Parquet file.

    Raises:
        DataError: If the file is damaged or not Parquet.
        RecipeError: If pyarrow is not installed.
    """
    errors = _require_pyarrow("parquet")
    from pyarrow import parquet

    try:
        with open_regular(path) as opened:
            size = os.fstat(opened.fileno()).st_size
        file = parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True)
        check_ratio(unpacked_bytes(file.metadata), size)
    except (OSError, errors) as error:
        raise DataError(f"{path} must be a Parquet file, got: {first_line(error)}; get the file again") from error
    except ValueError as error:
        raise DataError(f"{path} {error}") from error
    return file


def read_parquet(path: Path, names: Sequence[str]) -> Iterator[Line | Reject]:
    """Read the columns `names` of a Parquet file row by row.

    Raises:
        DataError: If the file is damaged.
        RecipeError: If pyarrow is not installed.
    """
    with closing(open_parquet(path)) as file:
        batches = file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names)), use_threads=False)
        yield from _read_batches(batches, names, path, str(path))


def _read_batches(
    batches: Iterable[Any], names: Sequence[str], path: Path, where: str, start: int = 1
) -> Iterator[Line | Reject]:
    """Read the columns `names` of the record batches of a file row by row; rows are numbered from `start`."""
    from pyarrow import ArrowException

    number = start
    try:
        for batch in batches:
            columns = [batch.column(name) for name in names]
            for row in range(batch.num_rows):
                try:
                    values = (column[row].as_py() for column in columns)
                    yield Line(f"{where}:{number}", dict(zip(names, values, strict=True)))
                except UnicodeDecodeError as error:
                    problem = f"got byte 0x{error.object[error.start]:02x} at position {error.start}"
                    yield Reject(f"{where}:{number}", f"must be UTF-8, {problem}; convert it")
                number += 1
    except (OSError, KeyError, ArrowException) as error:  # KeyError: of a table without columns
        raise DataError(
            f"{path} must be complete, got: {first_line(error)} after row {number - 1}; get the file again"
        ) from error


@final
class DatasetsSourceConfig(FieldsSourceConfig):
    """Folders of Hugging Face datasets saved by `save_to_disk`, for all splits or per split.

    They require pyarrow (extra `parquet`), not the library `datasets`.
    `path` is the folder of a dataset, or that of a `DatasetDict`, whose parts named train, validation and test are the
    splits. A dictionary with a single part is split by a hash of the id, like a dataset.
    """

    kind: Literal["datasets"] = "datasets"

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the folders of the datasets with their splits.

        Raises:
            DataError: If a folder holds no dataset, or a dictionary has parts that are no splits.
        """
        for folder, split in super().paths():
            path = folder / DICTIONARY
            if not path.is_file():
                yield folder, split
                continue
            parts = read_json(path, DataError, _AGAIN).get("splits")
            if not isinstance(parts, list) or not all(isinstance(part, str) and _is_file_name(part) for part in parts):
                raise DataError(f"{path} must have a list of names as 'splits', got {parts!r}; {_AGAIN}")
            if len(parts) == 1:
                yield folder / parts[0], split
            elif split or not parts or set(parts).difference(SPLITS):
                raise DataError(
                    f"{folder} must have parts named {', '.join(SPLITS)}, got {_quoted(parts) or 'none'}; "
                    "set data.source.train, validation and test to their folders"
                )
            else:
                yield from ((folder / name, name) for name in SPLITS if name in parts)

    def names(self, path: Path) -> Iterable[str]:
        """Return the column names of a dataset."""
        _require_pyarrow(self.kind)
        for file in _arrow_files(path)[:1]:
            with ExitStack() as stack:
                yield from _open_arrow(file, stack).schema.names

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the columns of the given fields row by row; the location of a row is its number in the dataset."""
        _require_pyarrow(self.kind)
        names = [name for name in (fields.document, fields.summary, fields.id) if name]
        number = 1
        for file in _arrow_files(path):
            with ExitStack() as stack:
                for row in _read_batches(_open_arrow(file, stack), names, file, str(path), number):
                    number += 1
                    yield row


DICTIONARY, STATE = "dataset_dict.json", "state.json"
"""Files that identify the folder of a `DatasetDict` and that of a dataset."""
_AGAIN = "get the file again"
_END = b"\xff\xff\xff\xff\0\0\0\0"
"""Last bytes of a complete Arrow stream."""


def is_dataset(folder: Path) -> bool:
    """Return whether a folder was written by `save_to_disk`."""
    return any((folder / name).is_file() for name in (DICTIONARY, STATE))


def _arrow_files(folder: Path) -> list[Path]:
    state = folder / STATE
    if not state.is_file():
        raise DataError(f"{folder} must be a dataset saved by save_to_disk, got no {STATE} in it; check data.source")
    content = read_json(state, DataError, _AGAIN)
    names = [str(entry.get("filename", "..")) for entry in content.get("_data_files") or () if isinstance(entry, dict)]
    if content.get("_indices_data_files") or not all(map(_is_file_name, names)):
        raise DataError(f"{state} must list files of its folder, without indices; save the dataset again")
    return [folder / name for name in names]


def _open_arrow(path: Path, stack: ExitStack) -> Any:  # noqa: ANN401 - pyarrow is untyped
    """Open a file of record batches, mapped into memory, and close it at the end of the stack."""
    errors = _require_pyarrow("datasets")
    from pyarrow import ipc, memory_map

    try:
        file = stack.enter_context(memory_map(str(path)))
        if file.size() < len(_END) or file.read_at(len(_END), file.size() - len(_END)) != _END:
            raise DataError(f"{path} must be a complete Arrow stream, got one without an end; {_AGAIN}")
        return stack.enter_context(ipc.open_stream(file))
    except (OSError, errors) as error:
        raise DataError(f"{path} must be an Arrow stream, got: {first_line(error)}; {_AGAIN}") from error


def _is_file_name(name: str) -> bool:
    return Path(name).name == name != ".."


@final
class FolderSourceConfig(SourceConfig):
    """Pairs of text files: `x.txt` is a document, `x.summary.txt` its summary.

    Files in a folder named train, validation or test belong to that split; others are split by a hash of their name.
    """

    kind: Literal["folder"] = "folder"
    path: Path
    """Folder with the text files; subfolders are included."""
    validation_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents outside split folders that is used for validation."""
    test_share: float = Field(0.05, ge=0, le=0.5)
    """Fraction of the documents outside split folders that is used for testing."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read all pairs of files, in alphabetical order.

        Raises:
            DataError: If the path is not a folder.
        """
        if not self.path.is_dir():
            raise DataError(f"{self.path} must be a folder with x.txt and x.summary.txt files; check data.source.path")
        names = {file for file in self.path.rglob("*.txt") if file.is_file()}
        stems = {str(file.relative_to(self.path)).removesuffix(".txt").removesuffix(".summary") for file in names}
        for stem in sorted(stems):
            yield self._row(stem)

    def _row(self, stem: str) -> Example | Reject:
        texts: list[str] = []
        for suffix in (".txt", ".summary.txt"):
            file = self.path / f"{stem}{suffix}"
            try:
                text = decode(read_regular(file, DEFAULT_LIMITS.max_bytes))
            except FileNotFoundError:
                return Reject(str(self.path / stem), f"must have both .txt and .summary.txt, got no {file.name}")
            except (*READ_ERRORS, ValueError) as error:
                return Reject(str(file), str(error))
            if not text.strip():
                return Reject(str(file), "must contain text, got an empty file")
            texts.append(text)
        split = next((split for split in SPLITS if split == Path(stem).parts[0]), None)
        return Example(stem, texts[0], texts[1], split or hash_split(stem, self.validation_share, self.test_share))


class CohanSourceConfig(SourceConfig, ABC):
    """Articles with their abstracts as summaries, in the format of Cohan et al. (2018, arXiv:1804.05685).

    One article per line: `article_id`, `abstract_text` (sentences wrapped in "<S> ... </S>"), `section_names` and
    `sections` (a list of strings per section; older files only have `article_text`, a single list). The texts are
    lower-case and tokenised, with formulas and citations replaced by @xmath0 and @xcite.
    """

    path: Path
    """Folder with train.txt, val.txt and test.txt, each optionally compressed (.gz, .zst)."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read the articles of all splits; each section becomes a paragraph.

        Raises:
            DataError: If a file is missing or truncated.
        """
        for path, split in zip(list(self.files()), SPLITS, strict=True):
            for line in read_lines(path):
                yield line if isinstance(line, Reject) else _article(line, split)

    def files(self) -> Iterator[Path]:
        """List the three files.

        Raises:
            DataError: If a file is missing.
        """
        for name in ("train", "val", "test"):
            candidates = (
                self.path / f"{name}{suffix}{packed}" for packed in ("", ".gz", ".zst") for suffix in (".txt", ".jsonl")
            )
            path = next((path for path in candidates if path.is_file()), None)
            if path is None:
                raise DataError(
                    f"{self.path} must hold {name}.txt (or .gz or .zst), got no such file; "
                    "set data.source.path to the unpacked folder with train.txt, val.txt and test.txt"
                )
            yield path


@final
class ArxivSourceConfig(CohanSourceConfig):
    """arXiv articles; the summary is the abstract."""

    kind: Literal["arxiv"] = "arxiv"


@final
class PubmedSourceConfig(CohanSourceConfig):
    """PubMed articles; the summary is the abstract."""

    kind: Literal["pubmed"] = "pubmed"


def _article(line: Line, split: Split) -> Example | Reject:
    """Return an article in the format of Cohan et al., with white space normalised."""

    def strings(value: object, name: str) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(string, str) for string in value):
            raise ValueError(f"{name!r} must be a list of texts, got {type(value).__name__}")
        return [" ".join(string.split()) for string in value if string.strip()]

    try:
        name = text_of(line.fields, "article_id")
        abstract = strings(line.fields.get("abstract_text"), "abstract_text")
        summary = " ".join(word for sentence in abstract for word in re.sub("</?S>", " ", sentence).split())
        sections = line.fields.get("sections")
        if isinstance(sections, list) and sections:
            document = "\n\n".join(" ".join(strings(section, "sections")) for section in sections)
        else:
            document = "\n\n".join(strings(line.fields.get("article_text"), "article_text"))
    except ValueError as error:
        return Reject(line.where, str(error))
    for field, text in (("abstract_text", summary), ("sections", document)):
        if not text.strip():
            return Reject(line.where, f"{field!r} must contain text, got an empty one")
    return Example(name, document, summary, split)


@final
class WikihowSourceConfig(SourceConfig):
    """WikiHow articles (Koupaee and Wang, 2018, arXiv:1810.09305); the summary is the headline of every step.

    `wikihowAll.csv` has an article per row, columns `headline` (the summary), `title` and `text`; `all_train.txt`,
    `all_val.txt` and `all_test.txt` list the titles of each split without spaces. Cleaning as its authors describe it:
    rows whose summary has at least three quarters of the characters of their article are left out, and so are the
    commas that joining the lines of a step left behind a full stop.
    """

    kind: Literal["wikihow"] = "wikihow"
    path: Path
    """Folder with wikihowAll.csv, all_train.txt, all_val.txt and all_test.txt."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read the articles that are in a list and remain after cleaning; the id is the location in the table.

        Raises:
            DataError: If a file is missing or damaged, or the table has other columns.
        """
        *lists, table = self.files()
        splits: dict[str, Split] = {}
        for path, split in zip(lists, SPLITS, strict=True):
            with open_bytes(path) as file:
                for listed in read_lines_limited(file, DEFAULT_LIMITS, str(path)):
                    splits[listed.decode(errors="replace").strip()] = split
        columns = ("headline", "title", "text")
        missing = set(columns).difference(read_header(table))
        if missing:
            raise DataError(f"{table} must have columns {', '.join(columns)}, got none named {min(missing)!r}")
        for line in read_rows(table):
            if isinstance(line, Reject):
                yield line
                continue
            summary, title, document = (str(line.fields[name]).strip() for name in columns)
            split_of = splits.get(title.replace(" ", ""))
            if split_of and summary and len(summary) < 0.75 * len(document):
                text = re.sub(r"\.+\n+,", ".\n", document).strip()
                yield Example(line.where, text, summary.replace(".,", "."), split_of)

    def files(self) -> Iterator[Path]:
        """List the three lists of titles and the table.

        Raises:
            DataError: If a file is missing.
        """
        for name in ("all_train.txt", "all_val.txt", "all_test.txt", "wikihowAll.csv"):
            path = self.path / name
            if not path.is_file():
                raise DataError(
                    f"{self.path} must hold {name}, got no such file; table and lists of titles are linked from "
                    "https://github.com/mahnazkoupaee/WikiHow-Dataset"
                )
            yield path

    def notes(self) -> Iterable[str]:
        """Return the rule by which articles are left out."""
        return (
            "articles in no list of titles and summaries of 75% of their article are left out, "
            "as in the published splits",
        )


_NAME = re.compile(r"(?:.*/)?rfc(\d+)\.(json|txt(?:\.gz)?)")
_STAMP = re.compile(
    r"\[\s*(?:(?:PROPOSED |DRAFT |INTERNET )?STANDARDS?(?:[- ]+TRACK)?|INFORMATIONAL|EXPERIMENTAL|HISTORIC(?:AL)?)\s*\]"
)
_BOILERPLATE = re.compile(
    r"This (?:memo|document|RFC|paper) provides information (?:for|to) the (?:ARPA-?|DARPA )?\s?Internet community\b.*"
    r"|(?:This (?:memo|document|RFC)|It) does not (?:specify|define) an(?:y)? (?:Internet )?standards?\b.*"
    r"|(?:This (?:memo|document|RFC)|It) (?:defines|is|documents|specifies|describes) an? "
    r"(?:Experimental Protocol|Historic Document|Internet Best Current Practices?)\b.*"
    r"|(?:This (?:memo|document) is|.*) not an Internet Standards Track specification\b.*"
    r"|Discussion and suggestions for improvement are (?:requested|welcome)\.?"
    r"|Distribution of this (?:memo|document) is unlimited\.?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class File:
    """File of the RFC series: its number, its path (or archive and member name), and its uncompressed content."""

    number: int
    where: str
    content: bytes


def series_files(path: Path, kind: Literal["json", "txt"]) -> Iterator[File]:
    """Read all metadata or all texts one at a time: a folder by number, an archive in member order.

    Files are `rfcN.txt` or `rfcN.txt.gz` with `rfcN.json`. An archive is streamed and never extracted to disk, so that
    names in it cannot lead outside a folder.

    Raises:
        DataError: If the path is neither a folder nor an archive of RFCs, or a file in it is damaged or too large.
    """
    import tarfile  # of those who read RFCs alone

    last = 0
    try:
        for number, where, file in _in_folder(path, kind) if path.is_dir() else _in_archive(path, kind):
            try:
                stream = open_unpacked(file, Path(where)) if where.endswith(".gz") else file
                content = read_limited(stream, DEFAULT_LIMITS)
            except ValueError as error:
                raise DataError(f"{where} {error}") from error
            yield File(number, where, content)
            last = number
    except (*READ_ERRORS, tarfile.TarError) as error:
        raise DataError(
            f"{path} must be a folder or a .tar.xz archive with rfcN.txt and rfcN.json files, got: {error} "
            f"{f'after RFC {last}' if last else ''}; docs/data.md says how to get the series"
        ) from error


def _in_folder(path: Path, kind: str) -> Iterator[tuple[int, str, IO[bytes]]]:
    for number, name in sorted((number, name) for name in path.iterdir() if (number := _number(name.name, kind))):
        with open_regular(name) as file:
            yield number, str(name), file


def _in_archive(path: Path, kind: str) -> Iterator[tuple[int, str, IO[bytes]]]:
    import tarfile

    with (
        open_unpacked(open_regular(path), path) as unpacked,
        tarfile.open(fileobj=unpacked, mode="r|") as archive,
    ):
        for member in archive:
            number = _number(member.name, kind)
            file = archive.extractfile(member) if number and member.isfile() else None
            if number and file:
                yield number, f"{path}: {member.name}", file


def _number(name: str, kind: str) -> int | None:
    """Return the RFC number in a file name of the given kind; None for other names."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match and match[2].startswith(kind) else None


def clean_body(text: str) -> str:
    """Return the prose of an RFC as paragraphs of one line each, separated by empty lines.

    Page breaks, the title block, legal sections, the table of contents, the abstract (the reference summary), headings,
    drawings, tables and hex dumps are left out.
    """
    from sumpool.documents.formats.rfc import classify_blocks  # of those who prepare RFCs alone
    from sumpool.documents.formats.text import unwrap

    return "\n\n".join(unwrap(block.lines) for block in classify_blocks(text) if block.part == "prose")


def clean_abstract(text: str) -> str:
    """Return an abstract of the RFC index as one paragraph, without the boilerplate that the index adds.

    The result is empty if only boilerplate is given.
    """
    from sumpool.documents.formats.text import unwrap

    sentences = map(str.strip, SentenceSplitter().split(unwrap([_STAMP.sub(" ", text)])))
    return " ".join(sentence for sentence in sentences if not _BOILERPLATE.fullmatch(sentence))


@final
class RfcSourceConfig(SourceConfig):
    """RFC series, by default the bundled sample of 1,713: the document is the body of an RFC, the summary its abstract.

    RFC n is in the test split if n mod 10 = 7, in validation if n mod 10 = 3, otherwise in training. Some RFCs revise
    others: training excludes every RFC that obsoletes or updates one of the other splits, or is obsoleted or updated by
    it.
    """

    kind: Literal["rfc"] = "rfc"
    path: Path | None = None
    """Folder or .tar.xz archive with rfcN.txt (or rfcN.txt.gz) and rfcN.json; by default the bundled sample."""
    body_words: int = Field(200, ge=1, le=1_000_000)
    """Minimum words of a body; RFCs with a shorter one are excluded."""

    revision: ClassVar[int] = 2
    """Raise it with every change of `clean_body`."""

    def example(self, number: int) -> Example | None:
        """Read one RFC as `rows` does, without cleaning the others; None if `rows` has no such document.

        Raises:
            DataError: If the path is neither a folder nor an archive of RFCs.
        """
        rows = self.rows(lambda other: other == number)
        return next((row for row in rows if isinstance(row, Example)), None)

    def examples(self, split: Split) -> Iterator[Example]:
        """Read the RFCs of a split as `rows` does, without cleaning the others.

        Raises:
            DataError: If the path is neither a folder nor an archive of RFCs.
        """
        rows = self.rows(lambda number: split_by_number(number) == split)
        return (row for row in rows if isinstance(row, Example))

    def rows(self, is_wanted: Callable[[int], bool] = lambda _: True) -> Iterator[Example | Reject]:
        """Read all RFCs with an abstract whose numbers are wanted.

        Raises:
            DataError: If the path is neither a folder nor an archive of RFCs.
        """
        folder = self.path or bundled_sample()
        series: dict[int, tuple[str, str, set[int]]] = {}  # location, abstract unless it is too short, related RFCs
        excluded: set[int] = set()
        for file in series_files(folder, "json"):
            try:
                content: dict[str, Any] = parse_json(file.content)
                related = [name for relation in _RELATIONS for name in content[relation]]
                numbers = {int(match[1]) for name in related if (match := _RFC_NUMBER.fullmatch(name))}
                abstract = clean_abstract(content["abstract"] or "")
            except (ValueError, KeyError, TypeError) as error:
                excluded.add(file.number)
                yield Reject(file.where, f"must be the metadata of an RFC, got {error!r}")
            else:
                is_long = len(abstract.split()) >= _ABSTRACT_WORDS
                series[file.number] = file.where, abstract if is_long else "", numbers
        pairs = {(number, other) for number, (*_, related) in series.items() for other in related}
        excluded |= {
            number
            for pair in pairs
            for number, other in (pair, pair[::-1])  # by the metadata of either
            if split_by_number(number) == "train" and split_by_number(other) != "train"
        }
        for file in series_files(folder, "txt"):
            if not is_wanted(file.number) or file.number in excluded:
                continue
            if file.number not in series:
                yield Reject(file.where, f"must have a rfc{file.number}.json beside it, got none")
                continue
            _, abstract, _ = series.pop(file.number)
            if abstract:
                try:
                    text = file.content.decode()
                except UnicodeDecodeError:
                    text = file.content.decode("latin-1")  # as a few early RFCs use it
                document = clean_body(text)
                if len(document.split()) >= self.body_words:
                    yield Example(f"RFC{file.number}", document, abstract, split_by_number(file.number))
        for number, (where, abstract, _) in series.items():
            if is_wanted(number) and number not in excluded and abstract:
                yield Reject(where, f"must have a text beside it, got no rfc{number}.txt")

    def notes(self) -> Iterable[str]:
        """Return messages about excluded RFCs."""
        return (
            f"RFCs with fewer than {_ABSTRACT_WORDS} words of abstract or {self.body_words} of body are excluded",
            "training excludes RFCs that revise a validation or test RFC, or are revised by one",
        )

    def files(self) -> Iterator[Path]:
        """List the files of the series, or the archive of the bundled sample."""
        yield from super().files() if self.path else (bundled_sample(),)


_ABSTRACT_WORDS = 15
"""Minimum words of an abstract; RFCs with a shorter one or none are excluded."""
_RELATIONS = ("obsoletes", "obsoleted_by", "updates", "updated_by")
_RFC_NUMBER = re.compile(r"\s*RFC\s*0*(\d+)\s*", re.IGNORECASE)


def bundled_sample() -> Path:
    """Return the path of the archive of RFCs bundled with the package."""
    return Path(str(files("sumpool.data.sample") / "rfc.tar.xz"))


def split_by_number(number: int) -> Split:
    """Return the split of an RFC."""
    return {7: "test", 3: "validation"}.get(number % 10, "train")  # type: ignore[return-value]
