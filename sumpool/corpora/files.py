"""Files of a corpus: local ones, and those of object stores by the file systems of pyarrow (`s3://bucket/folder`)."""

import io
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
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
_WILDCARD = re.compile(r"[*\[]")


def is_uri(name: str) -> bool:
    """Return whether a name is that of a file or a folder in an object store."""
    return bool(_URI.match(name)) and not is_address(name)


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

    _require_plain(name)
    folder, pattern = _split_pattern(name)
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


def _locate(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path in it, in which no character has a meaning, as in names of files.

    Raises:
        OSError: If the object store cannot be reached.
        ValueError: If there is no such file system.
    """
    from pyarrow import fs

    scheme, _, place = uri.partition("://")
    store, _, path = place.partition("/")
    system, root = fs.FileSystem.from_uri(f"{scheme}://{store}/")
    return system, f"{root.rstrip('/')}/{path}".rstrip("/")


def _require_plain(uri: str) -> None:
    """Refuse a password and options in the URI of a file, which would be shown and written with its name.

    Raises:
        DataError: If it has any.
    """
    scheme, _, place = uri.partition("://")
    user, at, store = place.rpartition("@")
    if at and ":" in user:
        raise DataError(
            f"{scheme}://...@{store} must have no password: leave it out, and set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or what the store reads"
        )
    if "?" in place:
        place = place.partition("?")[0]
        raise DataError(
            f"{scheme}://{place}?... must have no options: leave them out, and set AWS_ENDPOINT_URL and AWS_REGION"
        )


def _split_pattern(uri: str) -> tuple[str, str]:
    """Split a URI into its folder and a pattern of paths in it, which begins at the first part with a wildcard."""
    scheme, _, place = uri.rstrip("/").partition("://")
    parts = place.split("/")
    plain = next((index for index, part in enumerate(parts) if _WILDCARD.search(part)), len(parts))
    return f"{scheme}://{'/'.join(parts[:plain])}", "/".join(parts[plain:])


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
    from pyarrow import ArrowException

    try:
        if not is_uri(name):
            return Path(name).open("rb")
        system, path = _locate(name)
        return system.open_input_file(path)
    except (OSError, ValueError, ArrowException) as error:
        raise DataError(f"{name} must be a file that can be read, got: {first_line(error)}") from error
