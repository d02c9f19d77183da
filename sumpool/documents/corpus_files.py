"""Files of a corpus and their rows: local ones, and those of object stores by pyarrow (`s3://bucket/folder`)."""

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from sumpool.documents.detection import ROWS
from sumpool.documents.document import Document, ReadOptions
from sumpool.documents.files import (
    COMPRESSIONS,
    check_ratio,
    open_unpacked,
    read_lines_limited,
    read_up_to,
    uncompressed_suffix,
)
from sumpool.documents.formats import FORMATS
from sumpool.documents.read import files_of, is_address, parse_documents
from sumpool.documents.rows import Line, parse_lines, row_document, unpacked_bytes
from sumpool.errors import DataError, first_line

Fields = Mapping[str, Any]
_URI = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_WILDCARD = re.compile(r"[*\[]")


def list_files(name: str, options: ReadOptions, notice: Callable[[str], None]) -> list[str]:
    """List the documents and files of rows that an argument names, in alphabetical order.

    Args:
        name: File, folder or URI of either, which may have wildcards: `s3://bucket/*.parquet`.
        options: Options of reading.
        notice: Called with a sentence about the files of a local folder that are passed over.

    Raises:
        DataError: If the object store cannot be read, or has no such file; if the URI has credentials or options.
    """
    if not is_uri(name):
        path = Path(name)
        return [str(file) for file in files_of(path, options, notice)] if path.is_dir() else [name]
    from pyarrow import ArrowException, fs

    scheme, _, location = name.partition("://")
    user, at, store = location.rpartition("@")
    if at and ":" in user:  # which would be shown and written with the name, as options would be
        raise DataError(
            f"{scheme}://...@{store} must have no password: leave it out, and set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or what the store reads"
        )
    if "?" in location:
        location = location.partition("?")[0]
        raise DataError(
            f"{scheme}://{location}?... must have no options: leave them out, and set AWS_ENDPOINT_URL and AWS_REGION"
        )
    location = location.rstrip("/")
    parts = location.split("/")
    plain = next((index for index, part in enumerate(parts) if _WILDCARD.search(part)), len(parts))
    folder, pattern = f"{scheme}://{'/'.join(parts[:plain])}", "/".join(parts[plain:])
    try:
        system, root = _locate(folder)
        kind = system.get_file_info(root).type
        if kind == fs.FileType.File and not pattern:
            return [name]
        if kind != fs.FileType.Directory:
            raise DataError(f"{name} must be a file or a folder that exists, or a pattern of files: correct its name")
        infos = system.get_file_info(fs.FileSelector(root, recursive=True))
    except (OSError, ValueError, ArrowException) as error:
        raise DataError(f"{name} must be a folder or a file that can be read, got: {first_line(error)}") from error
    paths = (info.path.removeprefix(root.rstrip("/")) for info in infos if info.type == fs.FileType.File)
    if not pattern:
        return sorted(folder + path for path in paths if uncompressed_suffix(Path(path)) in {*FORMATS, *ROWS})
    matching = sorted(folder + path for path in paths if PurePosixPath(path).match(f"/{pattern}"))
    if not matching:
        raise DataError(f"{name} must match a file, but none of {folder} does: correct the pattern")
    return matching


def is_uri(name: str) -> bool:
    """Return whether a name is that of a file or a folder in an object store."""
    return bool(_URI.match(name)) and not is_address(name)


def _locate(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path in it, where no character has a meaning, as in names of files."""
    from pyarrow import fs

    scheme, _, location = uri.partition("://")
    store, _, path = location.partition("/")
    system, root = fs.FileSystem.from_uri(f"{scheme}://{store}/")
    return system, f"{root.rstrip('/')}/{path}".rstrip("/")


def open_file(name: str) -> Any:  # noqa: ANN401 - pyarrow is untyped
    """Open a local file or one of an object store for random access.

    Raises:
        DataError: If it cannot be read.
    """
    from pyarrow import ArrowException

    try:
        if not is_uri(name):
            return Path(name).open("rb")
        system, path = _locate(name)
        return system.open_input_file(path)
    except (OSError, ValueError, ArrowException) as error:
        raise DataError(f"{name} must be a file that can be read, got: {first_line(error)}") from error


def read_rows(name: str, options: ReadOptions) -> Iterator[tuple[Document, Fields]]:
    """Read the documents of a file with their columns; what prevents one is its error.

    The readers of Ray Data stop at a damaged file or row, which must come out with its reason.
    """
    kind, path, number = row_kind(name), Path(name), 0

    def lines() -> Iterator[tuple[Document, Fields]]:
        file = cast(IO[bytes], io.BufferedReader(open_file(name), 2**20))
        with open_unpacked(file, path) if path.suffix in COMPRESSIONS else file as unpacked:
            for line in parse_lines(name, read_lines_limited(unpacked, options.limits, name)):
                document = row_document(line, options)
                yield document, dict(line.fields) if isinstance(line, Line) else {"id": document.id}

    def content() -> bytes:
        with open_file(name) as file:
            return read_up_to(file, options.limits)

    try:
        if kind:
            rows = lines() if kind == "jsonl" else _read_parquet(name, options)
        else:
            documents = parse_documents(name, uncompressed_suffix(path), content, options)
            rows = ((document, {"id": document.id, "title": document.title}) for document in documents)
        for row in rows:
            number += 1
            yield row
        error = "" if number else f"{name} must hold rows, got none"
    except DataError as problem:
        error = str(problem)
    except Exception as problem:
        error = f"{name} must be complete, got: {first_line(problem)} after row {number}; get the file again"
    if error:
        yield Document(name, "", error), {"id": name}


def _read_parquet(name: str, options: ReadOptions) -> Iterator[tuple[Document, Fields]]:
    from pyarrow import parquet

    with open_file(name) as stream:
        file = parquet.ParquetFile(stream, page_checksum_verification=True)
        try:
            check_ratio(unpacked_bytes(file.metadata), stream.seek(0, os.SEEK_END))
        except ValueError as error:
            raise DataError(f"{name} {error}") from error
        rows = (row for batch in file.iter_batches(64, use_threads=False) for row in batch.to_pylist())
        for number, row in enumerate(rows, 1):
            yield row_document(Line(f"{name}:{number}", row), options), row


def row_kind(name: str) -> str:
    """Return "parquet" or "jsonl" for files of rows that are read one at a time; empty for others."""
    path = Path(name)
    kind = ROWS.get(uncompressed_suffix(path), "")
    return kind if kind == "jsonl" or (kind == "parquet" and path.suffix not in COMPRESSIONS) else ""


def encode_rows(name: str, rows: Sequence[tuple[Fields, Fields]]) -> bytes:
    """Return the content of a file of rows, Parquet as that of their file, or else JSON lines.

    Args:
        name: The file of the rows.
        rows: Columns of each, and those that are added; their names begin with `generated_` if they are taken.
    """
    if row_kind(name) == "parquet":
        return _encode_parquet(name, rows)
    lines = ({**row, **{_free_name(key, row): value for key, value in added.items()}} for row, added in rows)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return text.encode(errors="backslashreplace")


def _encode_parquet(name: str, rows: Sequence[tuple[Fields, Fields]]) -> bytes:
    """Write rows with the columns and types of their file; only an id if they cannot be read."""
    import pyarrow
    from pyarrow import parquet

    text, number = pyarrow.string(), pyarrow.int64()
    try:
        with open_file(name) as source:
            schema = parquet.read_schema(source)
    except (OSError, DataError, pyarrow.ArrowException):
        schema = pyarrow.schema([("id", text)])
    columns = [row if [*row] == schema.names else {} for row, _ in rows]
    table = pyarrow.Table.from_pylist(columns, schema)
    source_fields = [("text", text), ("start", number), ("end", number), ("page", number), ("line", number)]
    sources = pyarrow.list_(pyarrow.struct([*source_fields, ("weight", pyarrow.float64())]))
    evidence = pyarrow.struct([("sentence", text), ("unsupported", pyarrow.list_(text)), ("sources", sources)])
    types = {"tokens_read": number, "tokens_total": number, "evidence": pyarrow.list_(evidence)}
    for key in rows[0][1]:
        values = pyarrow.array([added[key] for _, added in rows], types.get(key, text))
        table = table.append_column(_free_name(key, schema.names), values)
    content = io.BytesIO()
    parquet.write_table(table, content)
    return content.getvalue()


def _free_name(name: str, used: Iterable[str]) -> str:
    return f"generated_{name}" if name in used else name
