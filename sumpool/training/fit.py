"""The training loop: update, validate, save, until the steps are made, patience ends or a signal comes."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NoReturn

from torch import nn

from sumpool.errors import Interrupted, NonFiniteError
from sumpool.interruption import Check, go_on
from sumpool.io.atomic import disk_errors, remove_temporary
from sumpool.progress import Progress, Report, silent
from sumpool.training.checkpoint import Checkpoint, Checkpoints, export
from sumpool.training.compilation import compile_layers
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import Position, TrainingData, reseed, updates_from
from sumpool.training.hardware import choose_device, reproducible
from sumpool.training.journal import Journal
from sumpool.training.optimizer import build_optimizer, moments_of, set_moments
from sumpool.training.schedule import factor
from sumpool.training.state import TrainingState
from sumpool.training.update import PendingMetrics, UpdateMetrics, Updater, count_target_tokens
from sumpool.training.validation import validate
from sumpool.training.weights import set_weights, weights_of

CHECKPOINTS = "checkpoints"
JOURNAL = "metrics.jsonl"
NAMED_DOCUMENTS = 8
"""Documents that a sentence names before it says how many more there are."""

ScoreSummaries = Callable[[], Mapping[str, float]]
"""Writes summaries of some validation documents with the model as it is, and scores them: figures by name."""


@dataclass(frozen=True)
class _Pending:
    """An update whose figures have not been looked at."""

    step: int
    documents: tuple[str, ...]
    source_tokens: int
    target_tokens: int
    rate: float
    loading: float
    metrics: PendingMetrics


def fit(
    model: nn.Module,
    config: TrainConfig,
    material: TrainingData,
    run: Path,
    *,
    score: ScoreSummaries | None = None,
    report: Report = silent,
    check: Check = go_on,
) -> TrainingState:
    """Train a model, going on from the newest checkpoint of the run folder if there is one.

    On the CPU a run that was killed and started again ends in the same bytes as one that never was.

    Args:
        model: The model, with its first weights.
        config: The settings.
        material: Documents.
        run: The run folder, with a manifest; it takes checkpoints, journal and the best weights.
        score: Scores summaries at every validation.
        report: Hears how it goes.
        check: Called where the work may stop.

    Returns:
        Where the run ended. The model holds the last weights.

    Raises:
        Interrupted: If a signal has come; a checkpoint of the last step is saved.
        NonFiniteError: If a loss or a gradient is not finite; nothing was updated with it.
        ResourceError: If memory or disk runs out.
        CheckpointError: If what is in the run folder cannot be used.
        RecipeError: If the settings do not fit the machine or the model.
    """
    device = choose_device(config.device)
    with reproducible(device):
        if config.compile:
            compile_layers(model)
        training = _Run(model.to(device), config, material, run, report)
        training.resume()
        try:
            training.go(score, check)
        except Interrupted:
            training.save()
            raise
    return training.state


class _Run:
    """A run in progress."""

    def __init__(
        self, model: nn.Module, config: TrainConfig, material: TrainingData, run: Path, report: Report
    ) -> None:
        self.model = model
        self.config = config
        self.material = material
        self.run = run
        self.report = report
        self.device = next(model.parameters()).device
        self.optimizer = build_optimizer(model, config)
        self.updater = Updater(model, self.optimizer, config, self.device)
        self.checkpoints = Checkpoints(run / CHECKPOINTS, config.keep)
        self.journal = Journal(run / JOURNAL)
        self.state = TrainingState()
        self.pending: _Pending | None = None
        self.saved: int | None = None
        self.clock = time.perf_counter()

    def resume(self) -> None:
        """Go back to the newest checkpoint that is whole, or to the beginning."""
        self.checkpoints.clean()
        with disk_errors(self.run):
            remove_temporary(self.run)
        found = self.checkpoints.load_newest(self.report)
        if found:
            set_weights(self.model, found.weights, str(self.checkpoints.folder))
            set_moments(self.optimizer, self.model, found.moments)
            self.state = TrainingState.from_json(found.state)
            self.saved = step = self.state.step
            self.checkpoints.prune(step, self.state.best_step)  # a kill may have come between saving and pruning
            self.report(Progress("train", step, self.config.steps, note=f"going on from step {step}"))
        self.journal.rewind(self.state.step)

    def go(self, score: ScoreSummaries | None, check: Check) -> None:
        """Train to the end."""
        plan = self.material.plan(self.config.batch_tokens)
        updates = updates_from(self.state.place, plan, self.config.accumulate)
        while True:
            if self._is_due(self.config.validate_every):
                self.save()
                self._validate(score, check)
            elif self._is_due(self.config.checkpoint_every):
                self.save()
            if self.state.step >= self.config.steps or 0 < self.config.patience <= self.state.stale_validations:
                return
            check()
            self._update(*next(updates))

    def save(self) -> None:
        """Write a checkpoint of this step, and delete those that are no longer needed."""
        self._settle()
        if self.saved == self.state.step:
            return
        self.journal.sync()
        content = Checkpoint(weights_of(self.model), moments_of(self.optimizer, self.model), asdict(self.state))
        self.checkpoints.save(self.state.step, content)
        self.checkpoints.prune(self.state.step, self.state.best_step)
        self.saved = self.state.step
        self.clock = time.perf_counter()

    def _is_due(self, every: int) -> bool:
        step, steps = self.state.step, self.config.steps
        has_learnt = step > 0 or self.config.init_from is not None  # what another run has learnt may stay the best
        return step >= steps or (has_learnt and step % every == 0)

    def _update(self, numbers: list[list[int]], place: Position) -> None:
        step = self.state.step + 1
        reseed(self.material.seed, step)
        rate = self.config.learning_rate * factor(self.state.step, self.config.schedule, self.config.steps)
        begin = time.perf_counter()
        batches = [self.material.batch(self.material.training, batch) for batch in numbers]
        loading = time.perf_counter() - begin
        metrics = self.updater.update(batches, rate)
        documents = tuple(name for batch in batches for name in batch.documents)
        source_tokens = sum(int(batch.mask.sum()) for batch in batches)
        target_tokens = sum(count_target_tokens(batch) for batch in batches)
        self._settle()
        self.pending = _Pending(step, documents, source_tokens, target_tokens, rate, loading, metrics)
        self.state = replace(self.state, step=step, place=place)
        if self.device.type == "cpu":
            self._settle()

    def _settle(self) -> None:
        """Look at the figures of the last update; on a GPU the next one is already on its way by then."""
        done, self.pending = self.pending, None
        if done is None:
            return
        metrics = done.metrics.read()
        now = time.perf_counter()
        seconds, self.clock = now - self.clock, now
        if not metrics.are_finite():
            self._stop(done, metrics)
        health = {name: value for name, value in metrics.health.items() if math.isfinite(value)}
        record = {
            "loss": metrics.loss,
            "nats": metrics.nats,
            "norm": metrics.norm,
            **health,
            "learning_rate": done.rate,
            "target_tokens": done.target_tokens,
            "seconds": round(seconds, 6),
            "loading": round(done.loading, 6),
            "tokens_per_second": round(done.source_tokens / seconds),
        }
        self.journal.append("step", done.step, record)
        shown = {"loss": metrics.loss, "tokens/s": done.source_tokens / seconds}
        self.report(Progress("train", done.step, self.config.steps, shown))

    def _stop(self, done: _Pending, metrics: UpdateMetrics) -> NoReturn:
        """Say which documents made the numbers overflow."""
        documents = list(done.documents)
        found = {name: str(value) for name, value in asdict(metrics).items()}  # JSON has no nan
        self.journal.append("stopped", done.step, {**found, "documents": documents})
        more = len(documents) - NAMED_DOCUMENTS
        named = ", ".join(documents[:NAMED_DOCUMENTS]) + (f" and {more} more" if more > 0 else "")
        raise NonFiniteError(
            f"loss and gradient of step {done.step} must be finite, got loss {metrics.loss}, gradient norm "
            f"{metrics.norm}; nothing was updated with them and the last checkpoint is good. Look at the documents of "
            f"this step ({named}), or train with a lower train.learning_rate or train.precision=fp32"
        )

    def _validate(self, score: ScoreSummaries | None, check: Check) -> None:
        """Judge the model, and make its weights those of the run folder if they are the best so far."""
        step = self.state.step
        loss = validate(self.model, self.material, self.config, self.device, check)
        if not math.isfinite(loss):
            raise NonFiniteError(f"the validation loss after step {step} must be finite, got {loss}")
        metrics = dict(score()) if score else {}
        self.state = self.state.after_validation(loss)
        is_best = self.state.best_step == step
        if is_best:
            export(self.run, self.model, {"step": step, "validation_loss": loss})
        self.journal.append("validation", step, {"nats": loss, **metrics, "best": is_best})
        shown = ", ".join(f"{name} {value:.4g}" for name, value in {"loss": loss, **metrics}.items())
        note = f"step {step}: validation {shown}{' (best so far)' if is_best else ''}"
        self.report(Progress("train", step, self.config.steps, note=note))
        self.clock = time.perf_counter()
