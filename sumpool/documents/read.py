"""Documents from files, folders, addresses and standard input, read one at a time."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Final, final

from sumpool.documents.addresses import fetch, is_address
from sumpool.documents.decoding import invisible_note
from sumpool.documents.detection import ROW_KINDS, ROWS, detect_format
from sumpool.documents.document import DEFAULT_OPTIONS, Document, Limits, ParsedDocument, ReadOptions
from sumpool.documents.files import READ_ERRORS, read_limited, uncompressed_suffix
from sumpool.documents.folders import files_of
from sumpool.documents.formats import parse_content
from sumpool.documents.sections import cut_back_matter, mark_contents
from sumpool.errors import DataError
from sumpool.io.pipes import open_input

STDIN: Final = "-"
"""Argument that stands for standard input."""


def ignore_notice(notice: str) -> None:
    """Discard a notice."""


def read_documents(
    name: str,
    options: ReadOptions = DEFAULT_OPTIONS,
    stdin: BinaryIO | None = None,
    notice: Callable[[str], None] = ignore_notice,
) -> Iterator[Document]:
    """Read the documents of one command-line argument; the files of a folder in alphabetical order.

    Args:
        name: File, folder, http(s) address or "-".
        options: Options of reading.
        stdin: Stream read for "-"; by default standard input.
        notice: Called with a sentence about the files of a folder that are passed over.
    """
    if name == STDIN:
        stream = stdin or sys.stdin.buffer
        yield from parse_documents(STDIN, "", lambda: read_limited(stream, options.limits), options)
    elif is_address(name):
        yield from _fetched_documents(name, options)
    elif Path(name).is_dir():
        for file in files_of(Path(name), options, notice):
            yield from _file_documents(file, options)
    else:
        yield from _file_documents(Path(name), options)


def read_all(
    names: Sequence[str],
    options: ReadOptions = DEFAULT_OPTIONS,
    limit: int | None = None,
    notice: Callable[[str], None] = ignore_notice,
) -> Iterable[Document]:
    """Read the documents of several arguments; the result has a length if it is known before they are read.

    Args:
        names: Files, folders, http(s) addresses or "-".
        options: Options of reading.
        limit: Documents that are read at most; None reads all.
        notice: Called with a sentence about files that are passed over.
    """
    documents = chain.from_iterable(read_documents(name, options, notice=notice) for name in names)
    count = _count(names, options)
    if count is None:
        return islice(documents, limit)
    return _CountedDocuments(islice(documents, limit), count if limit is None else min(count, limit))


@final
class _CountedDocuments(Sized, Iterable[Document]):
    def __init__(self, documents: Iterator[Document], count: int) -> None:
        self._documents, self._count = documents, count

    def __iter__(self) -> Iterator[Document]:
        return self._documents

    def __len__(self) -> int:
        return self._count


def _count(names: Sequence[str], options: ReadOptions) -> int | None:
    """Return the number of documents; None if a file may hold several or an argument is a stream."""
    files: list[Path] = []
    for name in names:
        if name == STDIN or is_address(name):
            return None
        path = Path(name)
        files += files_of(path, options, ignore_notice) if path.is_dir() else [path]
    return None if any(uncompressed_suffix(file) in (*ROWS, ".mbox") for file in files) else len(files)


def _file_documents(path: Path, options: ReadOptions) -> Iterator[Document]:
    suffix = uncompressed_suffix(path)
    if suffix in (".jsonl", ".ndjson"):
        from sumpool.documents.rows import json_line_documents  # as most documents are files

        try:
            yield from _some(str(path), json_line_documents(path, options))
        except DataError as error:
            yield Document(str(path), "", str(error))
    else:
        yield from parse_documents(str(path), suffix, lambda: _read(path, options.limits), options)


def _some(name: str, documents: Iterator[Document]) -> Iterator[Document]:
    """Yield documents, or an error if there are none."""
    first = next(documents, None)
    yield first or Document(name, "", f"{name} must hold rows, got none")
    yield from documents


def _read(path: Path, limits: Limits) -> bytes:
    try:
        file = open_input(path)
    except OSError as error:
        raise DataError(f"{path} must be a file that can be read, got: {error.strerror}; check the path") from error
    with file:
        return read_limited(file, limits)


def _fetched_documents(address: str, options: ReadOptions) -> Iterator[Document]:
    try:
        content, suffix = fetch(address, options.limits)
    except DataError as error:
        yield Document(address, "", str(error))
    else:
        yield from parse_documents(address, suffix, lambda: content, options)


def parse_documents(name: str, suffix: str, read: Callable[[], bytes], options: ReadOptions) -> Iterator[Document]:
    """Read the documents of one content; what prevents it is the error of a document.

    Args:
        name: Name of the content.
        suffix: Suffix of its format in lower case.
        read: Returns the content.
        options: Options of reading.
    """
    subject = "stdin" if name == STDIN else name
    yield from _with_errors(name, subject, _parse(name, subject, suffix, read, options))


def _parse(name: str, subject: str, suffix: str, read: Callable[[], bytes], options: ReadOptions) -> Iterator[Document]:
    content = read()
    kind = detect_format(content, suffix)
    if kind in ROW_KINDS:
        from sumpool.documents.rows import row_documents

        yield from _some(name, row_documents(subject, content, kind, options))
        return
    if kind == "mail":
        from sumpool.documents.mailboxes import split_mailbox

        mails = split_mailbox(content)
        for mail in mails:
            number = f":{mail.number}"
            yield from _with_errors(name + number, subject + number, _one(name + number, mail.content, kind, options))
        if mails:
            return
    yield from _one(name, content, kind, options)


def _one(name: str, content: bytes, kind: str, options: ReadOptions) -> Iterator[Document]:
    yield _document(name, parse_content(kind, content, options), options)


def _with_errors(name: str, subject: str, documents: Iterator[Document]) -> Iterator[Document]:
    """Yield documents; what prevents one is the error of a document in its place, which is the last."""
    try:
        yield from documents
    except DataError as error:
        yield Document(name, "", str(error))
    except READ_ERRORS as error:
        yield Document(name, "", f"{subject} must be complete, got: {error}; get the file again")
    except ValueError as error:
        yield Document(name, "", f"{subject} {error}")
    except RecursionError:
        yield Document(name, "", f"{subject} must be nested less deeply, got more levels than can be read")


def _document(name: str, parsed: ParsedDocument, options: ReadOptions) -> Document:
    """Build a document from the result of a format, without invisible characters and back matter."""
    parsed, invisible = parsed.visible()
    parsed = ParsedDocument(mark_contents(parsed.blocks), parsed.title, (*parsed.notes, *invisible_note(invisible)))
    document = Document.from_parsed(name, parsed)
    if options.keep_references:
        return document
    blocks, words = cut_back_matter(document.blocks)
    if not words:
        return document
    note = f"{words:,} words of references and appendices left out"
    return Document.from_parsed(name, ParsedDocument(blocks, document.title, (*document.notes, note)))
