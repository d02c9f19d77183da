"""Files of a corpus: local ones, and those of object stores by the file systems of pyarrow (`s3://bucket/folder`)."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from sumpool.documents.addresses import is_address
from sumpool.documents.detection import ROWS
from sumpool.documents.document import Limits, ReadOptions
from sumpool.documents.files import COMPRESSIONS, open_bytes, open_unpacked, uncompressed_suffix
from sumpool.documents.folders import files_of
from sumpool.documents.formats import FORMATS
from sumpool.errors import DataError, first_line

_BUFFER_BYTES = 2**20
_URI = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def is_uri(name: str) -> bool:
    """Return whether a name is that of a file or a folder in an object store."""
    return bool(_URI.match(name)) and not is_address(name)


def list_files(name: str, options: ReadOptions, notice: Callable[[str], None]) -> list[str]:
    """List the documents and files of rows that an argument names, in alphabetical order.

    Args:
        name: File, folder or URI of either.
        options: Options of reading.
        notice: Called with a sentence about the files of a local folder that are passed over.

    Raises:
        DataError: If the object store cannot be read.
    """
    if not is_uri(name):
        path = Path(name)
        return [str(file) for file in files_of(path, options, notice)] if path.is_dir() else [name]
    from pyarrow import ArrowException, fs

    try:
        system, root = fs.FileSystem.from_uri(name)
        if system.get_file_info(root).type != fs.FileType.Directory:
            return [name]
        infos = system.get_file_info(fs.FileSelector(root, recursive=True))
    except (OSError, ValueError, ArrowException) as error:
        raise DataError(f"{name} must be a folder or a file that can be read, got: {first_line(error)}") from error
    paths = (info.path.removeprefix(root.rstrip("/")) for info in infos if info.type == fs.FileType.File)
    return sorted(name.rstrip("/") + path for path in paths if uncompressed_suffix(Path(path)) in {*FORMATS, *ROWS})


def open_content(name: str, limits: Limits) -> IO[bytes]:
    """Open a file for reading its decompressed content.

    Raises:
        DataError: If it cannot be read.
    """
    path = Path(name)
    if not is_uri(name):
        return open_bytes(path, limits)
    file = cast(IO[bytes], io.BufferedReader(open_seekable(name), _BUFFER_BYTES))
    return open_unpacked(file, path, limits) if path.suffix in COMPRESSIONS else file


def open_seekable(name: str) -> Any:  # noqa: ANN401 - pyarrow is untyped
    """Open a file for random access.

    Raises:
        DataError: If it cannot be read.
    """
    from pyarrow import ArrowException, fs

    try:
        if not is_uri(name):
            return Path(name).open("rb")
        system, path = fs.FileSystem.from_uri(name)
        return system.open_input_file(path)
    except (OSError, ValueError, ArrowException) as error:
        raise DataError(f"{name} must be a file that can be read, got: {first_line(error)}") from error
