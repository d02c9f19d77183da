"""Log of updates: metrics, speed, and an update with a non-finite loss, in the metrics log and on the screen."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from sumpool.errors import NonFiniteError
from sumpool.progress import Progress, Report
from sumpool.training.journal import Journal
from sumpool.training.processes import Processes
from sumpool.training.update import PendingMetrics

MAX_NAMED_DOCUMENTS = 8
"""Documents named in an error; of further documents only the number is given."""


@dataclass(frozen=True)
class PendingUpdate:
    """An update whose metrics have not been read from the device.

    Attributes:
        step: Number of the update.
        documents: Ids of the documents of this process.
        rate: Learning rate.
        data_seconds: Time of reading and padding the documents.
        imbalance: Imbalance of tokens between processes; None for one process.
        metrics: Metrics in transfer.
    """

    step: int
    documents: tuple[str, ...]
    rate: float
    data_seconds: float
    imbalance: float | None
    metrics: PendingMetrics


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
        self._pending: PendingUpdate | None = None
        self._clock = time.perf_counter()

    def append(self, update: PendingUpdate) -> None:
        """Log the preceding update, and keep this one.

        Raises:
            NonFiniteError: If a loss or a gradient of the preceding update is not finite.
        """
        self.flush()
        self._pending = update

    def restart_clock(self) -> None:
        """Leave the time since the last update out of the seconds of the next one."""
        self._clock = time.perf_counter()

    def flush(self) -> None:
        """Read and log the metrics of the last update; on a GPU the next one is already queued.

        Raises:
            NonFiniteError: If its loss or gradient is not finite.
        """
        update, self._pending = self._pending, None
        if update is None:
            return
        metrics = update.metrics.read()
        now = time.perf_counter()
        seconds, self._clock = now - self._clock, now
        values = {"loss": metrics.loss, "nats": metrics.nll, "norm": metrics.gradient_norm, **metrics.auxiliary}
        if not metrics.are_finite():
            self._stop(update, values)
        imbalance = {} if update.imbalance is None else {"imbalance": round(update.imbalance, 6)}
        record = {
            **{name: value for name, value in values.items() if math.isfinite(value)},
            "learning_rate": update.rate,
            "target_tokens": int(update.metrics.size.target_tokens),
            "seconds": round(seconds, 6),
            "data_seconds": round(update.data_seconds, 6),
            "tokens_per_second": round(update.metrics.size.source_tokens / seconds),
            **imbalance,
        }
        if self._processes.is_main:
            self._journal.append("step", update.step, record)
        shown = {"loss": metrics.loss, "tokens/s": update.metrics.size.source_tokens / seconds, **imbalance}
        self._report(Progress("train", update.step, self._steps, shown))

    def _stop(self, update: PendingUpdate, values: Mapping[str, float]) -> NoReturn:
        """Log and raise a non-finite update with its documents."""
        gathered = self._processes.gather(update.documents)
        documents = list(dict.fromkeys(name for names in gathered for name in names))
        record = {name: str(value) for name, value in values.items()}  # JSON has no nan
        if self._processes.is_main:
            self._journal.append("stopped", update.step, {**record, "documents": documents})
        more = len(documents) - MAX_NAMED_DOCUMENTS
        named = ", ".join(documents[:MAX_NAMED_DOCUMENTS]) + (f" and {more} more" if more > 0 else "")
        raise NonFiniteError(
            f"loss and gradient of step {update.step} must be finite, got loss {values['loss']}, gradient norm "
            f"{values['norm']}; the update was skipped and the last checkpoint is intact. Check the documents "
            f"of this step ({named}), or train with a lower train.learning_rate or train.precision=fp32"
        )
