"""Training loop: update, validate and save until the last step, early stopping or a signal."""

import itertools
import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from sumpool.data.batches import Batch, Position, TrainingData, fill_batches, reseed, updates_from
from sumpool.errors import Interrupted, NonFiniteError
from sumpool.io.atomic import disk_errors, remove_temporary
from sumpool.progress import Check, Progress, Report, finishing, no_op
from sumpool.training.checkpoint import CHECKPOINTS, Checkpoint, Checkpoints, TrainingState, restore_best
from sumpool.training.config import TrainConfig
from sumpool.training.hardware import autocast, choose_device, choose_precision, keep_freed_memory, reproducible
from sumpool.training.journal import JOURNAL, Journal, UpdateLog
from sumpool.training.processes import current_processes
from sumpool.training.update import BatchDivision, Updater, count_target_tokens, schedule_factor
from sumpool.training.weights import IMITATION, export

STANDARD_ERROR = "_standard_error"
"""Suffix of the name of a metric's standard error."""


class ValidationObserver(Protocol):
    """Measurement and record of a validation beside its loss."""

    def score(self) -> Mapping[str, float]:
        """Return scores of summaries that the current weights generate, by name; empty if there are none."""

    def record(self, step: int) -> None:
        """Record a validation whose metrics are in the metrics log."""


def fit(
    model: nn.Module,
    config: TrainConfig,
    data: TrainingData,
    run: Path,
    *,
    observer: ValidationObserver | None = None,
    report: Report = no_op,
    check: Check = no_op,
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
        Final state. The model has the weights of the last step, its part of them where they are sharded.

    Raises:
        Interrupted: If a signal was received; a checkpoint of the last step is saved.
        NonFiniteError: If a loss or a gradient is not finite; the weights are not updated with it.
        ResourceError: If memory or disk space runs out.
        CheckpointError: If the contents of the run folder cannot be used.
        RecipeError: If the settings do not fit the machine or the model.
    """
    device = choose_device(config.device)
    if device.type == "cpu":
        keep_freed_memory()
    with reproducible(device):
        loop = _TrainingLoop(model.to(device), config, data, run, report)
        loop.resume()
        try:
            loop.train(observer, check)
        except Interrupted:
            with finishing():
                loop.save()
            raise
    if hasattr(model, IMITATION):
        delattr(model, IMITATION)
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
        self.processes = current_processes()
        if self.processes.size == 1:
            self.updater = Updater(model, config, self.device, data.teacher)
        else:  # imported here, as trainings of one process do not import torch.distributed
            from sumpool.training.parallel import ParallelUpdater

            self.updater = ParallelUpdater(model, config, self.device, data.teacher, self.processes)
        self.checkpoints = Checkpoints(run / CHECKPOINTS, config.keep)
        self.journal = Journal(run / JOURNAL)
        self.log = UpdateLog(self.journal, config.steps, report, self.processes)
        self.state = TrainingState()
        self.saved_step: int | None = None

    def resume(self) -> None:
        """Load the newest intact checkpoint, if there is one."""
        with self.processes.main_first():
            if self.processes.is_main:
                self.checkpoints.clean()
                with disk_errors(self.run):
                    remove_temporary(self.run)
            checkpoint = self.checkpoints.load_newest(self.report)
        if checkpoint:
            self.updater.load_state(checkpoint.weights, checkpoint.moments, str(self.checkpoints.folder))
            self.state = checkpoint.state
            self.saved_step = step = self.state.step
            self.report(Progress("train", step, self.config.steps, note=f"resuming from step {step}"))
        if not self.processes.is_main:
            return
        if checkpoint:
            # The run may have been killed between saving and pruning.
            self.checkpoints.prune(self.state.step, self.state.best_step)
        self.journal.rewind(self.state.step)
        if checkpoint and not self._is_due(self.config.validate_every):
            restore_best(self.run, self.checkpoints, self.state)

    def train(self, observer: ValidationObserver | None, check: Check) -> None:
        """Update, validate and save until the run ends."""
        epochs = self.data.epochs(self.config.batch_tokens)
        updates = updates_from(self.state.position, epochs, self.config.accumulate)
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
                self.processes.check_together(check)
                self._update(*next(updates))

    def save(self) -> None:
        """Save a checkpoint of this step and delete outdated ones; process 0 does so for all."""
        self.log.flush()
        if self.saved_step == self.state.step:
            return
        checkpoint = Checkpoint(self.updater.weights(), self.updater.moments(), self.state)
        if self.processes.is_main:
            self.journal.sync()
            self.checkpoints.save(self.state.step, checkpoint)
            self.checkpoints.prune(self.state.step, self.state.best_step)
        self.saved_step = self.state.step
        self.log.restart_clock()

    def _is_due(self, every: int) -> bool:
        step, steps = self.state.step, self.config.steps
        is_trained = step > 0 or self.config.init_from is not None  # the initial weights may stay the best
        return step >= steps or (is_trained and step % every == 0)

    def _update(self, indices: list[list[int]], position: Position) -> None:
        step = self.state.step + 1
        rate = self.config.learning_rate * schedule_factor(self.state.step, self.config.schedule, self.config.steps)
        begin = time.perf_counter()
        batches = self.updater.batches(self.data, indices, step)
        data_seconds = time.perf_counter() - begin
        division = self.updater.division
        failed = division.failed
        metrics = self.updater.update(batches, rate)
        if division.failed != failed:
            self.report(Progress("train", self.state.step, self.config.steps, note=division.note()))
        documents = tuple(name for batch in batches for name in batch.documents)
        self.log.append(step, documents, rate, data_seconds, metrics)
        self.state = replace(self.state, step=step, position=position)
        if self.device.type == "cpu":
            self.log.flush()

    def _validate(self, observer: ValidationObserver | None, check: Check) -> None:
        """Validate the model, and export its weights to the run folder if they are the best so far."""
        step = self.state.step
        with self.updater.whole_weights():
            loss, metrics = validate(self.model, self.data, self.config, self.device, check)
            if not math.isfinite(loss):
                raise NonFiniteError(f"the validation loss after step {step} must be finite, got {loss}")
            metrics |= observer.score() if observer else {}
        select_by = self.config.select_by
        self.state = self.state.after_validation(loss, None if select_by == "loss" else metrics[select_by])
        is_best = self.state.best_step == step
        best = " (best so far)" if is_best else ""
        shown = []
        for name, value in {"loss": loss, **metrics}.items():
            if not name.endswith(STANDARD_ERROR):
                error = metrics.get(name + STANDARD_ERROR)
                shown.append(f"{name} {value:.4g}" + ("" if error is None else f" ± {error:.2g}"))
        note = f"step {step}: validation {', '.join(shown)}{best}"
        weights = self.updater.weights() if is_best else {}
        if self.processes.is_main:
            if is_best:
                export(self.run, weights, {"step": step, "validation_loss": loss})
            self.journal.append("validation", step, {"nats": loss, **metrics, "best": is_best})
        self.report(Progress("train", step, self.config.steps, note=note))
        if observer and self.processes.is_main:
            observer.record(step)
        self.log.restart_clock()


def validation_batches(data: TrainingData, config: TrainConfig) -> list[list[int]]:
    """Batches of the first validation documents, sorted by length, within `batch_tokens`."""
    lengths = data.lengths(data.validation)[: config.validate_documents]
    return fill_batches(np.argsort(lengths, kind="stable").tolist(), lengths, config.batch_tokens)


@torch.no_grad()
def validate(
    model: nn.Module, data: TrainingData, config: TrainConfig, device: torch.device, check: Check
) -> tuple[float, dict[str, float]]:
    """Score the references of the validation documents; several processes share the batches, with the same result.

    Returns:
        Mean negative log-likelihood of the references in nats per target token, and means of the model's counts over
        the target tokens by name, such as accuracy.

    Raises:
        Interrupted: If a signal was received; several processes stop together after the validation.
        ResourceError: If memory runs out.
    """
    model.eval()
    reseed(data.seed, 0)
    precision = choose_precision(config.precision, device)
    division = BatchDivision(config)

    def score(batch: Batch) -> dict[str, Tensor]:
        batch = batch.to(device)
        assert batch.target is not None
        with autocast(device, precision):
            scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target, lengths=batch.lengths)
        return {"log_prob": scores.log_prob.sum(), **scores.counts}

    processes = current_processes()
    scored: list[tuple[int, int, dict[str, Tensor]]] = []
    batches = list(enumerate(validation_batches(data, config)))
    # Processes compute whole batches, so that results do not depend on their number.
    for number, indices in batches[processes.rank :: processes.size]:
        if processes.size == 1:
            check()
        batch = data.batch(data.validation, indices)
        scored.append((number, count_target_tokens(batch), division.run(batch, score)))
    sums = [(number, count, {name: float(value) for name, value in parts.items()}) for number, count, parts in scored]
    tokens, totals = 0, dict[str, float]()
    for _, count, parts in sorted(itertools.chain(*processes.gather(sums)), key=itemgetter(0)):
        tokens += count
        totals |= {name: totals.get(name, 0.0) + value for name, value in parts.items()}
    means = {name: total / tokens for name, total in totals.items()}
    return -means.pop("log_prob"), means
