"""Resumable JSON lines: records appended one by one, of which a kill loses at most the last."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from sumpool.errors import DataError
from sumpool.io.atomic import counted, disk_errors, replace_file
from sumpool.io.bounded import open_regular, parse_json, read_regular

Record = TypeVar("Record")

_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True)
class Identity:
    """Values that the records of a file depend on, saved beside it, so that no file mixes records of two tasks.

    Attributes:
        path: The JSON file that holds the values.
        values: The values; their names are shown in errors.
        advice: What to do if the values differ, for the error.
    """

    path: Path
    values: Mapping[str, str]
    advice: str

    def save(self) -> None:
        """Write the values.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        with disk_errors(self.path):
            replace_file(self.path, (json.dumps(dict(self.values), ensure_ascii=False, indent=2) + "\n").encode())

    def require_same(self) -> None:
        """Compare the values with the saved ones.

        Raises:
            DataError: If a value differs, or the file is missing or damaged.
        """
        try:
            saved = parse_json(read_regular(self.path))
        except (OSError, ValueError):
            saved = None
        if not isinstance(saved, dict):
            raise DataError(f"{self.path} must say what the results are of, got nothing readable; {self.advice}")
        for name in (*self.values, *saved):
            if saved.get(name) != self.values.get(name):
                raise DataError(
                    f"{self.path} must hold the same {name} to go on, got {saved.get(name)!r} there and "
                    f"{self.values.get(name)!r} now; {self.advice}"
                )


class ResumableFile:
    """A file of JSON lines open for appending; `with` closes it."""

    def __init__(
        self, path: Path, *, resume: bool, identity: Identity | None = None, advice: str = "start again"
    ) -> None:
        """Open a file.

        Args:
            path: The file; devices and pipes are appended to as they are.
            resume: Whether to keep the lines of the file, except for a torn last one, instead of starting anew.
            identity: What the lines depend on; must be unchanged to resume.
            advice: What to do once there is room on the disk, for the error.

        Raises:
            DataError: If the lines of the file have another identity, or none that can be read.
            ResourceError: If the disk is full or fails.
            RecipeError: If the path cannot be written.
        """
        self.path = path
        self._advice = advice
        if resume and path.exists():
            if identity:
                identity.require_same()
            if path.is_file():  # cut after its last line feed, searched for from the end, as the file may be long
                with path.open("rb+") as file:
                    end, line_feed = file.seek(0, os.SEEK_END), -1
                    while end and line_feed < 0:
                        start = max(0, end - _BLOCK_BYTES)
                        file.seek(start)
                        line_feed = file.read(end - start).rfind(b"\n")
                        end = start
                    file.truncate(end + line_feed + 1)
        else:
            if path.is_file():
                path.unlink()
            if identity:
                identity.save()
        with disk_errors(path):
            self._file = path.open("ab")

    def append(self, record: str) -> None:
        """Append a line, and pass it to the operating system; a kill after that loses nothing.

        Args:
            record: The line without its line feed.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        # a lone surrogate, as in a file name that is not UTF-8, becomes the JSON escape that stands for it
        line = (record + "\n").encode("utf-8", errors="backslashreplace")
        with disk_errors(self.path, advice=self._advice), counted(self.path, len(line)):
            self._file.write(line)
            self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # closing tries to write once more what could not be written; the first error says it all
        with suppress(OSError) if any(error) else nullcontext():
            self._file.close()


def read_records(path: Path, parse: Callable[[bytes], Record], rule: str, advice: str) -> Iterator[Record]:
    """Read the complete lines of a file, one at a time; a torn last line is passed over.

    Args:
        path: The file.
        parse: Parses a line; raises `ValueError`, `LookupError` or `TypeError` for a line of another form.
        rule: What a line must be, for the error.
        advice: What to do about another one.

    Raises:
        DataError: If a line is damaged.
        OSError: If the file is missing or cannot be read.
    """
    with open_regular(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield parse(line)
            except (ValueError, LookupError, TypeError) as error:
                raise DataError(f"{path}:{number} must be {rule}, got {line[:60]!r}; {advice}") from error
