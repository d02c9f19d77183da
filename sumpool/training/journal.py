"""The log of a run: `metrics.jsonl`, one JSON object per line."""

import json
from pathlib import Path
from typing import Any

from sumpool.data.files import sync
from sumpool.errors import CheckpointError
from sumpool.training.atomic_io import on_disk, replace


class Journal:
    """Appends records, each with its `kind` and its `step`.

    Kinds are "step" (an update), "validation" (made after that step) and "stopped" (why a run ended early). Of the
    `seconds` of an update `loading` says how many were spent on reading and padding its documents; on a GPU that goes
    on while the update before is computed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, kind: str, step: int, metrics: dict[str, Any]) -> None:
        """Add a record, so that whoever follows the file sees it at once.

        Raises:
            ResourceError: If the disk does not take it.
        """
        line = json.dumps({"kind": kind, "step": step, **metrics}) + "\n"
        with on_disk(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(line)

    def read(self) -> list[dict[str, Any]]:
        """Read the records; half a line, from a crash, is passed over.

        Raises:
            CheckpointError: If there is no journal.
        """
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1]
        except OSError as error:
            raise CheckpointError(f"{self.path} must be the journal of a run, got: {error}") from error
        return [record for line in lines if (record := _parse(line))]

    def rewind(self, step: int) -> None:
        """Forget what came after a checkpoint, which is of the moment before the validation of its step.

        Raises:
            ResourceError: If the disk does not take the shorter file.
        """
        lines = self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []
        kept = [line for line in lines if _precedes(line, step)]
        with on_disk(self.path):
            replace(self.path, b"".join(line + b"\n" for line in kept))

    def sync(self) -> None:
        """Flush the file to the disk.

        Raises:
            ResourceError: If the disk does not take it.
        """
        if self.path.exists():
            with on_disk(self.path):
                sync(self.path)


def _precedes(line: bytes, step: int) -> bool:
    record = _parse(line)
    # A checkpoint is of the moment after its step and before the validation of that step.
    return record is not None and (record["step"], record["kind"] != "step") <= (step, False)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Read a record; None for anything else, such as half a line that a crash left."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(record, dict) and isinstance(record.get("kind"), str) and isinstance(record.get("step"), int)
    return record if whole else None
