"""Metrics log of a run: `metrics.jsonl`, one JSON object per line, and its records of updates."""

import json
import math
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sumpool.errors import CheckpointError, NonFiniteError
from sumpool.io.atomic import disk_errors, replace_file, sync
from sumpool.io.bounded import parse_json, read_regular
from sumpool.io.json_lines import ResumableFile
from sumpool.progress import Progress, Report
from sumpool.training.processes import Processes

if TYPE_CHECKING:
    from sumpool.training.update import PendingMetrics

JOURNAL = "metrics.jsonl"
"""The metrics log of a run."""
SAMPLES = "samples.jsonl"
"""Log of a run with sample summaries of every validation."""
MAX_NAMED_DOCUMENTS = 8
"""Documents named in an error; of further documents only the number is given."""
MAX_BYTES = 1 << 30
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
            lines = read_regular(self.path, MAX_BYTES).split(b"\n")[:-1]
        except OSError as error:
            raise CheckpointError(f"{self.path} must be the metrics log of a run, got: {error}") from error
        records = []
        for line in lines:
            with suppress(ValueError):  # of an incomplete line
                records.append(parse_json(line))
        return [
            record
            for record in records
            if isinstance(record, dict) and isinstance(record.get("kind"), str) and isinstance(record.get("step"), int)
        ]

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


class UpdateLog:
    """Log of updates, each written when the next one is queued on the device or `flush` is called.

    Args:
        journal: Metrics log, written by process 0.
        steps: Updates of the run.
        report: Progress callback.
        processes: The processes of the training.
    """

    def __init__(self, journal: Journal, steps: int, report: Report, processes: Processes) -> None:
        self._journal = journal
        self._steps = steps
        self._report = report
        self._processes = processes
        self._pending: tuple[int, tuple[str, ...], float, float, PendingMetrics] | None = None
        self._clock = time.perf_counter()

    def append(
        self, step: int, documents: tuple[str, ...], rate: float, data_seconds: float, metrics: "PendingMetrics"
    ) -> None:
        """Log the preceding update, and keep this one.

        Args:
            step: Number of the update.
            documents: Ids of the documents of this process.
            rate: Learning rate.
            data_seconds: Time of reading and padding the documents.
            metrics: Metrics in transfer from the device.

        Raises:
            NonFiniteError: If a loss or a gradient of the preceding update is not finite.
        """
        self.flush()
        self._pending = step, documents, rate, data_seconds, metrics

    def restart_clock(self) -> None:
        """Leave the time since the last update out of the seconds of the next one."""
        self._clock = time.perf_counter()

    def flush(self) -> None:
        """Read and log the metrics of the last update; on a GPU the next one is already queued.

        Raises:
            NonFiniteError: If its loss or gradient is not finite.
        """
        if self._pending is None:
            return
        (step, documents, rate, data_seconds, metrics), self._pending = self._pending, None
        values = metrics.read()
        now = time.perf_counter()
        seconds, self._clock = now - self._clock, now
        if not all(math.isfinite(values[name]) for name in ("loss", "nats", "norm")):
            named = list(dict.fromkeys(name for names in self._processes.gather(documents) for name in names))
            if self._processes.is_main:  # as texts, since JSON has no nan
                texts = {name: str(value) for name, value in values.items()}
                self._journal.append("stopped", step, {**texts, "documents": named})
            more = len(named) - MAX_NAMED_DOCUMENTS
            listed = ", ".join(named[:MAX_NAMED_DOCUMENTS]) + (f" and {more} more" if more > 0 else "")
            raise NonFiniteError(
                f"loss and gradient of step {step} must be finite, got loss {values['loss']}, gradient norm "
                f"{values['norm']}; the update was skipped and the last checkpoint is intact. Check the documents "
                f"of this step ({listed}), or train with a lower train.learning_rate or train.precision=fp32"
            )
        size = metrics.size
        imbalance = {} if size.imbalance is None else {"imbalance": round(size.imbalance, 6)}
        record = {
            **{name: value for name, value in values.items() if math.isfinite(value)},
            "learning_rate": rate,
            "target_tokens": int(size.target_tokens),
            "seconds": round(seconds, 6),
            "data_seconds": round(data_seconds, 6),
            "tokens_per_second": round(size.source_tokens / seconds),
            **imbalance,
        }
        if self._processes.is_main:
            self._journal.append("step", step, record)
        shown = {"loss": values["loss"], "tokens/s": size.source_tokens / seconds, **imbalance}
        self._report(Progress("train", step, self._steps, shown))
