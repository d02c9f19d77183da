"""Metrics log of a run: `metrics.jsonl`, one JSON object per line."""

import json
from pathlib import Path
from typing import Any

from sumpool.errors import CheckpointError
from sumpool.io.atomic import disk_errors, replace_file, sync
from sumpool.io.bounded import parse_json, read_regular
from sumpool.io.json_lines import ResumableFile

SAMPLES = "samples.jsonl"
"""Log of a run with sample summaries of every validation."""
_MAX_BYTES = 1 << 30
"""Size of a metrics log at most; a million updates take a third of it."""


class Journal:
    """Metrics log of records with a `kind` and a `step`.

    Kinds are "step" (an update), "validation" (after that step) and "stopped" (an update with a non-finite loss or
    gradient). `seconds` is the wall-clock time of an update; of these, `data_seconds` are spent on reading and padding
    its documents, which on a GPU overlaps with the preceding update.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, kind: str, step: int, metrics: dict[str, Any]) -> None:
        """Append a record and flush it to the operating system.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        with ResumableFile(self.path, resume=True) as file:
            file.append(json.dumps({"kind": kind, "step": step, **metrics}))

    def read(self) -> list[dict[str, Any]]:
        """Read the records; an incomplete line, left by a crash, is skipped.

        Raises:
            CheckpointError: If there is no metrics log.
        """
        try:
            lines = read_regular(self.path, _MAX_BYTES).split(b"\n")[:-1]
        except OSError as error:
            raise CheckpointError(f"{self.path} must be the metrics log of a run, got: {error}") from error
        return [record for line in lines if (record := _parse(line))]

    def rewind(self, step: int) -> None:
        """Drop the records after a checkpoint, which is saved before the validation of its step.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        records = self.read() if self.path.exists() else []
        kept = [record for record in records if (record["step"], record["kind"] != "step") <= (step, False)]
        with disk_errors(self.path):
            replace_file(self.path, "".join(json.dumps(record) + "\n" for record in kept).encode())

    def sync(self) -> None:
        """Flush the file to the disk.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        if self.path.exists():
            with disk_errors(self.path):
                sync(self.path)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Parse a record; None for anything else, such as an incomplete line left by a crash."""
    try:
        record = parse_json(line)
    except ValueError:
        return None
    is_record = isinstance(record, dict) and isinstance(record.get("kind"), str) and isinstance(record.get("step"), int)
    return record if is_record else None
