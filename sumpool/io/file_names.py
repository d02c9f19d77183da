"""Safe file names for arbitrary ids.

An id may hold separators, `..`, device names, control characters and any number of characters. Its file name stays
inside the folder on every system, and a name that is not the id itself ends with a hash of the id.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import final

MAX_BYTES = 150
"""Length of a component in UTF-8; file systems take 255."""

_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"|?*\\\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
"""Names that Windows reserves for devices, with any suffix."""
_HASH_BYTES = 4


@final
class FileNames:
    """Assigns a file name below a folder to each id; the same ids in the same order get the same names."""

    def __init__(self, roots: Sequence[str], suffix: str) -> None:
        """Start without names.

        Args:
            roots: Files and folders; the name of a file among or below them is relative to them.
            suffix: Suffix of every name, such as ".txt".
        """
        self._roots = [root.rstrip("/") for root in roots]
        self._suffix = suffix
        self._used: set[str] = set()

    def assign(self, id: str) -> Path:
        """Return the relative path of a new file for an id; an id that repeats gets another one."""
        name = id
        for root in self._roots:
            if id == root:
                name = id.rpartition("/")[2] or id
                break
            if id.startswith(f"{root}/"):
                name = id[len(root) + 1 :]
                break
        parts = []
        for raw in name.split("/"):
            if raw not in ("", ".", ".."):
                part = _UNSAFE.sub("_", unicodedata.normalize("NFC", raw)).strip(" ").rstrip(".")
                part = f"_{part}" if not part or part.startswith((".", "-")) or _DEVICE.match(part) else part
                parts.append(part.encode()[:MAX_BYTES].decode(errors="ignore"))
        safe = path = PurePosixPath(*parts or ("_",))
        number = 0
        # some file systems ignore the case
        while (number == 0 and str(safe) != name) or str(path).casefold() in self._used:
            number += 1
            hashed = f"{id}\0{number}" if number > 1 else id
            digest = hashlib.blake2b(hashed.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
            path = safe.with_name(f"{safe.name}-{digest}")
        self._used.add(str(path).casefold())
        return Path(f"{path}{self._suffix}")
