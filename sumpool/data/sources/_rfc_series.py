"""Files of the RFC series, `rfcN.txt` or `rfcN.txt.gz` with `rfcN.json`, in a folder or an archive.

An archive is streamed and never extracted to disk, so member names cannot cause path traversal.
"""

import gzip
import io
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sumpool.documents.files import READ_ERRORS
from sumpool.errors import DataError

_NAME = re.compile(r"(?:.*/)?rfc(\d+)\.(json|txt(?:\.gz)?)")
_MAX_BYTES = 64 * 2**20
"""Bytes read of a file; the longest RFC has 3 million."""


@dataclass(frozen=True)
class File:
    """File of the RFC series: its number, its path (or archive and member name), and its uncompressed content."""

    number: int
    where: str
    content: bytes


def series_files(path: Path, kind: Literal["json", "txt"]) -> Iterator[File]:
    """Read all metadata or all texts one at a time: a folder by number, an archive in member order.

    Raises:
        DataError: If the path is neither a folder nor an archive of RFCs, or a file in it is damaged.
    """
    number = 0
    try:
        for number, where, content in _in_folder(path, kind) if path.is_dir() else _in_archive(path, kind):
            yield File(number, where, content)
    except (*READ_ERRORS, tarfile.TarError) as error:
        raise DataError(
            f"{path} must be a folder or a .tar.xz archive with rfcN.txt and rfcN.json files, got: {error} "
            f"{f'after RFC {number}' if number else ''}; docs/rfc.md says how to get the series"
        ) from error


def _in_folder(path: Path, kind: str) -> Iterator[tuple[int, str, bytes]]:
    for number, file in sorted((number, file) for file in path.iterdir() if (number := _number(file.name, kind))):
        content = file.read_bytes()
        yield number, str(file), _decompress(content) if file.suffix == ".gz" else content


def _in_archive(path: Path, kind: str) -> Iterator[tuple[int, str, bytes]]:
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            number = _number(member.name, kind)
            file = archive.extractfile(member) if number and member.isfile() else None
            if number and file:
                content = file.read(_MAX_BYTES)
                yield number, f"{path}: {member.name}", _decompress(content) if member.name.endswith(".gz") else content


def _number(name: str, kind: str) -> int | None:
    """Return the RFC number in a file name of the given kind; None for other names."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match and match[2].startswith(kind) else None


def _decompress(content: bytes) -> bytes:
    with gzip.open(io.BytesIO(content)) as file:
        return file.read(_MAX_BYTES)
