"""The log of a run: `metrics.jsonl`, one JSON object per line."""

import json
from pathlib import Path
from typing import Any

from sumpool.training.durable import on_disk, replace, sync


class Journal:
    """Appends records, each with its `kind` and its `step`.

    Kinds are "step" (an update), "validation" (made after that step) and "stopped" (why a run ended early).
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, kind: str, step: int, figures: dict[str, Any]) -> None:
        """Add a record, so that whoever follows the file sees it at once.

        Raises:
            ResourceError: If the disk does not take it.
        """
        line = json.dumps({"kind": kind, "step": step, **figures}) + "\n"
        with on_disk(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(line)

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
    try:
        record = json.loads(line)
        return bool(record["step"] < step or (record["step"] == step and record["kind"] == "step"))
    except (ValueError, LookupError, TypeError):
        return False  # half a line, from a crash
