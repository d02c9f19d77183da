"""Training loop: update, validate and save until the last step, early stopping or a signal."""

import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NoReturn, Protocol

from torch import nn

from sumpool.errors import Interrupted, NonFiniteError
from sumpool.io.atomic import disk_errors, remove_temporary
from sumpool.progress import Check, Progress, Report, finishing, go_on, silent
from sumpool.training.checkpoint import Checkpoint, Checkpoints, restore_best
from sumpool.training.compilation import compile_layers
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import Position, TrainingData, reseed, updates_from
from sumpool.training.hardware import choose_device, reproducible
from sumpool.training.journal import Journal
from sumpool.training.optimizer import build_optimizer, moments_of, schedule_factor, set_moments
from sumpool.training.state import TrainingState
from sumpool.training.update import PendingMetrics, Updater, count_target_tokens
from sumpool.training.validation import render_metrics, selection_score, validate
from sumpool.training.weights import export, set_weights, weights_of

CHECKPOINTS = "checkpoints"
JOURNAL = "metrics.jsonl"
MAX_NAMED_DOCUMENTS = 8
"""Documents named in an error; of further documents only the number is given."""


class ValidationObserver(Protocol):
    """Measurement and record of a validation beside its loss."""

    def score(self) -> Mapping[str, float]:
        """Return scores of summaries that the current weights generate, by name; empty if there are none."""

    def record(self, step: int) -> None:
        """Record a validation whose metrics are in the metrics log."""


@dataclass(frozen=True)
class _PendingUpdate:
    """An update whose metrics have not been read from the device."""

    step: int
    documents: tuple[str, ...]
    source_tokens: int
    target_tokens: int
    rate: float
    data_seconds: float
    metrics: PendingMetrics


def fit(
    model: nn.Module,
    config: TrainConfig,
    data: TrainingData,
    run: Path,
    *,
    observer: ValidationObserver | None = None,
    report: Report = silent,
    check: Check = go_on,
) -> TrainingState:
    """Train a model, resuming from the newest checkpoint of the run folder if there is one.

    On the CPU a run that was killed and resumed ends bitwise equal to an uninterrupted run.

    Args:
        model: Model with initial weights.
        config: Settings of training.
        data: Training and validation documents.
        run: Run folder with a manifest; receives checkpoints, the metrics log and the best weights.
        observer: Scores generated summaries and records the metrics, at every validation.
        report: Progress callback.
        check: Called between steps; raises to stop the run.

    Returns:
        Final state. The model has the weights of the last step.

    Raises:
        Interrupted: If a signal was received; a checkpoint of the last step is saved.
        NonFiniteError: If a loss or a gradient is not finite; the weights are not updated with it.
        ResourceError: If memory or disk space runs out.
        CheckpointError: If the contents of the run folder cannot be used.
        RecipeError: If the settings do not fit the machine or the model.
    """
    device = choose_device(config.device)
    with reproducible(device):
        if config.compile:
            compile_layers(model)
        loop = _TrainingLoop(model.to(device), config, data, run, report)
        loop.resume()
        try:
            loop.train(observer, check)
        except Interrupted:
            with finishing():
                loop.save()
            raise
    return loop.state


class _TrainingLoop:
    """Training loop and its state."""

    def __init__(self, model: nn.Module, config: TrainConfig, data: TrainingData, run: Path, report: Report) -> None:
        self.model = model
        self.config = config
        self.data = data
        self.run = run
        self.report = report
        self.device = next(model.parameters()).device
        self.optimizer = build_optimizer(model, config)
        self.updater = Updater(model, self.optimizer, config, self.device, data.teacher)
        self.checkpoints = Checkpoints(run / CHECKPOINTS, config.keep)
        self.journal = Journal(run / JOURNAL)
        self.state = TrainingState()
        self.pending: _PendingUpdate | None = None
        self.saved_step: int | None = None
        self.clock = time.perf_counter()

    def resume(self) -> None:
        """Load the newest intact checkpoint, if there is one."""
        self.checkpoints.clean()
        with disk_errors(self.run):
            remove_temporary(self.run)
        checkpoint = self.checkpoints.load_newest(self.report)
        if checkpoint:
            set_weights(self.model, checkpoint.weights, str(self.checkpoints.folder))
            set_moments(self.optimizer, self.model, checkpoint.moments)
            self.state = TrainingState.from_json(checkpoint.state)
            self.saved_step = step = self.state.step
            # The run may have been killed between saving and pruning.
            self.checkpoints.prune(step, self.state.best_step)
            self.report(Progress("train", step, self.config.steps, note=f"resuming from step {step}"))
        self.journal.rewind(self.state.step)
        if checkpoint and not self._is_due(self.config.validate_every):
            restore_best(self.run, self.checkpoints, self.state)

    def train(self, observer: ValidationObserver | None, check: Check) -> None:
        """Update, validate and save until the run ends."""
        plan = self.data.plan(self.config.batch_tokens)
        updates = updates_from(self.state.position, plan, self.config.accumulate)
        begun = self.state.step
        while True:
            with finishing() if self.state.step > begun else nullcontext():  # before, a signal loses no update
                if self._is_due(self.config.validate_every):
                    self.save()
                    self._validate(observer, check)
                elif self._is_due(self.config.checkpoint_every):
                    self.save()
                if self.state.step >= self.config.steps or 0 < self.config.patience <= self.state.stale_validations:
                    return
                check()
                self._update(*next(updates))

    def save(self) -> None:
        """Save a checkpoint of this step and delete outdated ones."""
        self._log_pending()
        if self.saved_step == self.state.step:
            return
        self.journal.sync()
        checkpoint = Checkpoint(weights_of(self.model), moments_of(self.optimizer, self.model), asdict(self.state))
        self.checkpoints.save(self.state.step, checkpoint)
        self.checkpoints.prune(self.state.step, self.state.best_step)
        self.saved_step = self.state.step
        self.clock = time.perf_counter()

    def _is_due(self, every: int) -> bool:
        step, steps = self.state.step, self.config.steps
        is_trained = step > 0 or self.config.init_from is not None  # the initial weights may stay the best
        return step >= steps or (is_trained and step % every == 0)

    def _update(self, indices: list[list[int]], position: Position) -> None:
        step = self.state.step + 1
        reseed(self.data.seed, step)
        rate = self.config.learning_rate * schedule_factor(self.state.step, self.config.schedule, self.config.steps)
        begin = time.perf_counter()
        batches = [self.data.batch(self.data.training, batch) for batch in indices]
        data_seconds = time.perf_counter() - begin
        failed = self.updater.division.failed
        metrics = self.updater.update(batches, rate)
        if self.updater.division.failed != failed:
            self.report(Progress("train", self.state.step, self.config.steps, note=self.updater.division.note()))
        documents = tuple(name for batch in batches for name in batch.documents)
        source_tokens = sum(int(batch.mask.sum()) for batch in batches)
        target_tokens = sum(count_target_tokens(batch) for batch in batches)
        self._log_pending()
        self.pending = _PendingUpdate(step, documents, source_tokens, target_tokens, rate, data_seconds, metrics)
        self.state = replace(self.state, step=step, position=position)
        if self.device.type == "cpu":
            self._log_pending()

    def _log_pending(self) -> None:
        """Read and log the metrics of the last update; on a GPU the next one is already queued."""
        update, self.pending = self.pending, None
        if update is None:
            return
        metrics = update.metrics.read()
        now = time.perf_counter()
        seconds, self.clock = now - self.clock, now
        values = {"loss": metrics.loss, "nats": metrics.nll, "norm": metrics.gradient_norm, **metrics.auxiliary}
        if not metrics.are_finite():
            self._stop(update, values)
        record = {
            **{name: value for name, value in values.items() if math.isfinite(value)},
            "learning_rate": update.rate,
            "target_tokens": update.target_tokens,
            "seconds": round(seconds, 6),
            "data_seconds": round(update.data_seconds, 6),
            "tokens_per_second": round(update.source_tokens / seconds),
        }
        self.journal.append("step", update.step, record)
        shown = {"loss": metrics.loss, "tokens/s": update.source_tokens / seconds}
        self.report(Progress("train", update.step, self.config.steps, shown))

    def _stop(self, update: _PendingUpdate, values: Mapping[str, float]) -> NoReturn:
        """Log and raise a non-finite update with its documents."""
        documents = list(update.documents)
        record = {name: str(value) for name, value in values.items()}  # JSON has no nan
        self.journal.append("stopped", update.step, {**record, "documents": documents})
        more = len(documents) - MAX_NAMED_DOCUMENTS
        named = ", ".join(documents[:MAX_NAMED_DOCUMENTS]) + (f" and {more} more" if more > 0 else "")
        raise NonFiniteError(
            f"loss and gradient of step {update.step} must be finite, got loss {values['loss']}, gradient norm "
            f"{values['norm']}; the update was skipped and the last checkpoint is intact. Check the documents "
            f"of this step ({named}), or train with a lower train.learning_rate or train.precision=fp32"
        )

    def _validate(self, observer: ValidationObserver | None, check: Check) -> None:
        """Validate the model, and export its weights to the run folder if they are the best so far."""
        step = self.state.step
        validation = validate(self.model, self.data, self.config, self.device, check)
        loss = validation.nats
        if not math.isfinite(loss):
            raise NonFiniteError(f"the validation loss after step {step} must be finite, got {loss}")
        metrics = {**validation.metrics, **(observer.score() if observer else {})}
        self.state = self.state.after_validation(loss, selection_score(self.config, metrics))
        is_best = self.state.best_step == step
        if is_best:
            export(self.run, self.model, {"step": step, "validation_loss": loss})
        self.journal.append("validation", step, {"nats": loss, **metrics, "best": is_best})
        best = " (best so far)" if is_best else ""
        note = f"step {step}: validation {render_metrics({'loss': loss, **metrics})}{best}"
        self.report(Progress("train", step, self.config.steps, note=note))
        if observer:
            observer.record(step)
        self.clock = time.perf_counter()
