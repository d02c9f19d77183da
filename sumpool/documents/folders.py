"""Files of a folder that are documents."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from sumpool.documents.detection import ROWS, detect_format
from sumpool.documents.document import DEFAULT_OPTIONS, ReadOptions
from sumpool.documents.files import READ_ERRORS, open_bytes, uncompressed_suffix
from sumpool.documents.formats import FORMATS
from sumpool.errors import DataError

_MANUAL_SUFFIX = re.compile(r"\.[1-9][a-z]{0,4}")
_HEAD = 2**16
_MAX_NAMED: Final = 4
"""Kinds of files that a notice names."""


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
