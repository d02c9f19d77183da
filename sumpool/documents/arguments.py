"""Check of the arguments of a command before a model is loaded."""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from sumpool.documents.addresses import is_address
from sumpool.documents.detection import detect_format
from sumpool.documents.document import DEFAULT_OPTIONS, ReadOptions
from sumpool.documents.files import COMPRESSIONS, uncompressed_suffix
from sumpool.documents.folders import files_of
from sumpool.documents.formats import LIBRARIES, missing_library
from sumpool.documents.read import STDIN, ignore_notice
from sumpool.errors import DataError
from sumpool.io.bounded import open_regular

_HEAD = 2**16
_ZIP = b"PK\x03\x04"


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
            return "" if any(islice(files_of(path, options, ignore_notice), 1)) else _empty_folder(name, options)
        _check_file(path)
    except (OSError, ValueError) as error:
        if str(error).startswith("must"):
            return f"{path} {error}"
        if "://" in name:
            return f"{name} must come with --ray, which reads object stores, or be a file, a folder or an http address"
        reason = error.strerror if isinstance(error, OSError) else error
        return f"{path} must be a file that can be read, got: {reason}; check the path"
    except DataError as error:
        return str(error)
    return ""


def _empty_folder(name: str, options: ReadOptions) -> str:
    pattern = f" that match {options.glob}" if options.glob != DEFAULT_OPTIONS.glob else ""
    return f"{name} must hold documents{pattern}, got none; check the folder"


def _check_file(path: Path) -> None:
    """Check the first bytes of a file.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it cannot be a document.
        DataError: If a library is missing.
    """
    if path.exists() and not path.is_file():
        return  # a pipe can be read only once
    with open_regular(path) as file:
        head = file.read(_HEAD)
    suffix = uncompressed_suffix(path)
    if path.suffix in COMPRESSIONS or head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        head = b""  # damage is the error of the document
    if head.startswith(_ZIP):
        head = path.read_bytes()
    kind = detect_format(head, suffix)
    for library in LIBRARIES.get(kind, ()):
        if find_spec(library) is None:
            raise DataError(f"{path}: {missing_library(library, kind)}")
