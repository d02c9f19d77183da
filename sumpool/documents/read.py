"""Documents from files, folders, addresses and standard input, read one at a time."""

import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from contextlib import closing
from dataclasses import replace
from fnmatch import fnmatch
from io import BytesIO
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Final, final

from sumpool.documents.detection import ROW_KINDS, ROWS, detect_format
from sumpool.documents.document import (
    DEFAULT_OPTIONS,
    Document,
    ReadOptions,
    TextBlock,
    document_title,
    opening_heading,
)
from sumpool.documents.files import (
    COMPRESSIONS,
    READ_ERRORS,
    open_bytes,
    open_input,
    read_limited,
    read_up_to,
    uncompressed_suffix,
)
from sumpool.documents.formats import FORMATS, check_libraries, load_format
from sumpool.documents.worker import TOO_LARGE, WORKERS
from sumpool.errors import DataError
from sumpool.io.bounded import open_regular, read_regular

_MANUAL_SUFFIX = re.compile(r"\.[1-9][a-z]{0,4}")
_HEAD = 2**16
_MAX_NAMED: Final = 4
"""Kinds of files that a notice names."""

STDIN: Final = "-"
"""Argument that stands for standard input."""
_PREFETCHED = 8
"""Documents that are prefetched at most; some take many times as long to read as others."""
_READERS = 2
"""Threads that prefetch, each with a process."""
_ZIP = b"PK\x03\x04"


def ignore_notice(notice: str) -> None:
    """Discard a notice."""


def read_documents(
    name: str, options: ReadOptions = DEFAULT_OPTIONS, notice: Callable[[str], None] = ignore_notice
) -> Iterator[Document]:
    """Read the documents of one command-line argument; the files of a folder in alphabetical order.

    Args:
        name: File, folder, http(s) address or "-".
        options: Options of reading.
        notice: Called with a sentence about the files of a folder that are passed over.
    """
    if name == STDIN:
        yield from parse_documents(STDIN, "", lambda: read_up_to(sys.stdin.buffer, options.limits), options)
    elif is_address(name):
        yield from WORKERS.read(name, name, "", b"", options, is_address=True)
    elif Path(name).is_dir():
        for file in files_of(Path(name), options, notice):
            yield from _file_documents(file, options)
    else:
        yield from _file_documents(Path(name), options)


def parse_documents(name: str, suffix: str, read: Callable[[], bytes], options: ReadOptions) -> Iterator[Document]:
    """Read the documents of one content, by a process of its own; what prevents it is the error of a document.

    Args:
        name: Name of the content.
        suffix: Suffix of its format in lower case.
        read: Returns the content.
        options: Options of reading.
    """
    subject = "stdin" if name == STDIN else name

    def documents() -> Iterator[Document]:
        yield from WORKERS.read(name, subject, suffix, read(), options)

    return with_errors(name, subject, documents())


def is_address(name: str) -> bool:
    """Return whether an argument is an http(s) address."""
    return name.lower().startswith(("http://", "https://"))


def files_of(folder: Path, options: ReadOptions, notice: Callable[[str], None]) -> Iterator[Path]:
    """Yield the documents in a folder and its subfolders in alphabetical order, except hidden ones.

    A pattern other than "*" decides alone, and a file that it names is never passed over. Without one, files with a
    supported suffix are documents, except .csv and .tsv, and so are texts without a suffix and manual pages. Others are
    passed over and counted in one notice, as are pipes, devices, broken links and links out of the folder, whatever the
    pattern: a folder from elsewhere shall not choose which files of this machine are read.
    """
    passed: Counter[str] = Counter()
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts) or path.is_dir():
            continue
        named = options.glob != DEFAULT_OPTIONS.glob
        if named and not (fnmatch(path.name, options.glob) or inside.match(options.glob)):
            continue
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            passed["linked from elsewhere"] += 1
        elif path.is_file() and (named or _is_document(path)):
            yield path
        else:
            passed[(path.suffix or "without a suffix") if path.is_file() else "that are no files"] += 1
    if passed:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in passed.most_common(_MAX_NAMED))
        others = passed.total() - sum(count for _, count in passed.most_common(_MAX_NAMED))
        files = f"{passed.total():,} file{'s' if passed.total() > 1 else ''}"
        rest = f", {others:,} others" if others else ""
        notice(f"{folder}: {files} passed over ({kinds}{rest}); --glob names the files to read")


def _is_document(path: Path) -> bool:
    suffix = uncompressed_suffix(path)
    if suffix in FORMATS or (suffix in ROWS and suffix not in (".csv", ".tsv")):
        return True
    manual = bool(_MANUAL_SUFFIX.fullmatch(suffix))
    if suffix and not manual:
        return False
    try:
        with open_bytes(path) as file:
            kind = detect_format(file.read(_HEAD), suffix)
    except (DataError, ValueError, *READ_ERRORS):
        return False
    return not manual or kind in ("man", "mdoc")


def _file_documents(path: Path, options: ReadOptions) -> Iterator[Document]:
    suffix = uncompressed_suffix(path)
    if suffix in (".jsonl", ".ndjson"):
        from sumpool.documents.rows import read_lines, row_document  # as most documents are files

        rows = (row_document(line, options) for line in read_lines(path, options.limits))  # in memory for one line
        yield from with_errors(str(path), str(path), error_if_none(str(path), rows))
    else:

        def read() -> bytes:
            with open_input(path) as file:
                return read_up_to(file, options.limits)

        yield from parse_documents(str(path), suffix, read, options)


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
    notices: list[str] = []
    files = _files(names, options, notices.append)
    if files is None:
        documents = chain.from_iterable(read_documents(name, options, notice=notice) for name in names)
        return islice(documents, limit)
    for passed_over in notices:
        notice(passed_over)
    return _FileDocuments(files, options, limit)


def _files(names: Sequence[str], options: ReadOptions, notice: Callable[[str], None]) -> list[Path] | None:
    """Return the files that hold a document each; None if one may hold several or an argument is a stream."""
    files: list[Path] = []
    for name in names:
        if name == STDIN or is_address(name):
            return None
        path = Path(name)
        files += files_of(path, options, notice) if path.is_dir() else [path]
    return None if any(uncompressed_suffix(file) in (*ROWS, ".mbox") for file in files) else files


@final
class _FileDocuments(Sized, Iterable[Document]):
    """Documents of files that hold one each; the next ones are read by threads while one is used."""

    def __init__(self, files: Sequence[Path], options: ReadOptions, limit: int | None) -> None:
        self._files, self._options, self._limit = files[:limit], options, limit

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[Document]:
        with closing(self._documents()) as documents:
            yield from islice(documents, self._limit)  # a file may be a mailbox that its name does not tell

    def _documents(self) -> Generator[Document, None, None]:
        if len(self._files) == 1:
            yield from _file_documents(self._files[0], self._options)
            return
        # Imported here, as a single document has no next one.
        from concurrent.futures import ThreadPoolExecutor

        def read(file: Path) -> list[Document]:
            return list(_file_documents(file, self._options))

        threads = ThreadPoolExecutor(_READERS, "reading")
        try:
            files = iter(self._files)
            waiting = deque(threads.submit(read, file) for file in islice(files, _PREFETCHED))
            while waiting:
                documents = waiting.popleft().result()
                waiting.extend(threads.submit(read, file) for file in islice(files, 1))
                yield from documents
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def check_arguments(names: Sequence[str], options: ReadOptions = DEFAULT_OPTIONS) -> None:
    """Check that documents can be read from every argument; the content of large files is not read.

    Args:
        names: Files, folders, addresses or "-".
        options: Options of reading.

    Raises:
        DataError: If a file is missing, of a kind that cannot be read or needs a library that is not installed, or if
            a folder has no documents. The message names all such arguments.
    """
    if options.ocr:
        check_libraries("pdf")
        from sumpool.documents.formats.pdf import ocr_program

        ocr_program()
    problems = [problem for name in dict.fromkeys(names) if (problem := _problem(name, options))]
    if names.count(STDIN) > 1:
        problems.append("stdin must be named once, got - several times")
    if problems:
        raise DataError("; ".join(problems))


def _problem(name: str, options: ReadOptions) -> str:
    """Return what prevents reading an argument; empty if nothing does."""
    if name == STDIN or is_address(name):
        return ""
    path = Path(name)
    try:
        if path.is_dir():
            pattern = f" that match {options.glob}" if options.glob != DEFAULT_OPTIONS.glob else ""
            is_empty = next(files_of(path, options, ignore_notice), None) is None
            return f"{name} must hold documents{pattern}, got none; check the folder" if is_empty else ""
        if path.exists() and not path.is_file():
            return ""  # a pipe can be read only once
        with open_regular(path) as file:
            head = file.read(_HEAD)
        if path.suffix in COMPRESSIONS or head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
            head = b""  # damage is the error of the document
        if head.startswith(_ZIP):
            head = read_regular(path, options.max_bytes)
        check_libraries(detect_format(head, uncompressed_suffix(path)))
    except (OSError, ValueError) as error:
        if str(error).startswith("must"):
            return f"{path} {error}"
        if "://" in name:
            return f"{name} must come with --ray, which reads object stores, or be a file, a folder or an http address"
        reason = error.strerror if isinstance(error, OSError) else error
        return f"{path} must be a file that can be read, got: {reason}; check the path"
    except DataError as error:
        return f"{path}: {error}"
    return ""


def documents_of(name: str, subject: str, suffix: str, content: bytes, options: ReadOptions) -> Iterator[Document]:
    """Read the documents of a content in this process; a failure is the error of a document.

    Args:
        name: Name of the content.
        subject: What messages call it.
        suffix: Suffix of its format in lower case.
        content: The content, which may be compressed.
        options: Options of reading.
    """
    yield from with_errors(name, subject, _parse(name, subject, suffix, content, options))


def _parse(name: str, subject: str, suffix: str, content: bytes, options: ReadOptions) -> Iterator[Document]:
    content = read_limited(BytesIO(content), options.limits)
    kind = detect_format(content, suffix)
    if kind in ROW_KINDS:
        from sumpool.documents.rows import row_documents

        yield from error_if_none(name, row_documents(subject, content, kind, options))
        return
    if kind == "mail":
        check_libraries(kind)
        from sumpool.documents.formats.mail import split_mailbox

        mails = split_mailbox(content)
        for number, mail in mails:
            where = f"{name}:{number}"
            yield from with_errors(where, f"{subject}:{number}", _one(where, mail, kind, options))
        if mails:
            return
    yield from _one(name, content, kind, options)


def error_if_none(name: str, documents: Iterator[Document]) -> Iterator[Document]:
    """Yield documents, or one with an error if there are none."""
    first = next(documents, None)
    yield first or Document(name, "", f"{name} must hold rows, got none")
    yield from documents


def _one(name: str, content: bytes, kind: str, options: ReadOptions) -> Iterator[Document]:
    """Yield the only document of a content, without invisible characters and back matter."""
    from sumpool.documents.sections import cut_back_matter, mark_contents  # as workers alone parse documents

    document = Document.from_parsed(name, load_format(kind)(content, options))
    blocks, words = mark_contents(document.blocks), 0
    if not options.keep_references:
        blocks, words = cut_back_matter(blocks)
    notes = (f"{words:,} words of references and appendices left out",) if words else ()
    yield replace(document, notes=(*document.notes, *notes)).with_blocks(blocks)


def with_errors(name: str, subject: str, documents: Iterator[Document]) -> Iterator[Document]:
    """Yield documents; a failure is the error of a document in place of the one that failed, the last one."""
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
    except MemoryError:
        yield Document(name, "", f"{subject} {TOO_LARGE}")


def join_documents(documents: Sequence[Document]) -> Document:
    """Return one document with the others as its parts.

    Each part begins with its title, the only heading of level 1. Its id is the name of its file, where no other has the
    same.

    Raises:
        DataError: If there is no document, or one could not be read or holds no text.
    """
    for document in documents:
        if not document.text.strip():
            raise DataError(document.error or f"{document.id} must hold text, got none")
    if not documents:
        raise DataError("a digest must have documents, got none")
    names = Counter(PurePath(document.id).name for document in documents)
    ids = [
        name if names[name] == 1 else document.id for document in documents for name in (PurePath(document.id).name,)
    ]
    parts = [_with_title(replace(document, id=name)) for document, name in zip(documents, ids, strict=True)]
    return Document(
        ", ".join(ids),
        "\n\n".join(part.text for part in parts),
        blocks=tuple(block for part in parts for block in part.blocks),
        notes=tuple(f"{part.id}: {note}" for part in parts for note in part.notes),
        parts=tuple(parts),
    )


def _with_title(document: Document) -> Document:
    from sumpool.documents.formats.text import text_blocks  # as few ask for a digest

    blocks = list(document.blocks or text_blocks(document.text))
    title = document_title(document) or opening_heading(blocks) or document.id
    if opening_heading(blocks) == title:
        del blocks[next(index for index, block in enumerate(blocks) if block.text == title)]
    deeper = 2 - min((block.level for block in blocks if block.kind == "heading"), default=2)
    blocks = [replace(block, level=block.level + deeper) if block.kind == "heading" else block for block in blocks]
    blocks.insert(0, TextBlock(title, "heading", 1))
    return replace(document, title=title).with_blocks(blocks)
