"""Validation: the loss, and the measure that selects the best weights."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np
import torch
from torch import Tensor, nn

from sumpool.data.batches import Batch, fill_batches
from sumpool.progress import Check
from sumpool.training.batch_division import BatchDivision
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import TrainingData, reseed
from sumpool.training.hardware import autocast, choose_precision
from sumpool.training.processes import Processes, current_processes
from sumpool.training.update import count_target_tokens, to_device

STANDARD_ERROR = "_standard_error"
"""Suffix of the name of a metric's standard error."""


@dataclass(frozen=True)
class Validation:
    """Result of a validation.

    Attributes:
        nats: Mean negative log-likelihood of the references, nats per target token.
        metrics: Means of the model's counts over the target tokens, by name, such as accuracy.
    """

    nats: float
    metrics: dict[str, float] = field(default_factory=dict)


def validation_batches(data: TrainingData, config: TrainConfig) -> list[list[int]]:
    """Batches of the first validation documents, sorted by length, within `batch_tokens`."""
    lengths = data.lengths(data.validation)[: config.validate_documents]
    return fill_batches(np.argsort(lengths, kind="stable").tolist(), lengths, config.batch_tokens)


def share_batches(batches: Sequence[list[int]], processes: Processes) -> Iterator[tuple[int, list[int]]]:
    """Iterate over the batches that a process computes, with their numbers among all.

    Processes compute whole batches, so that results do not depend on the number of processes.
    """
    for number in range(processes.rank, len(batches), processes.size):
        yield number, batches[number]


@torch.no_grad()
def validate(
    model: nn.Module, data: TrainingData, config: TrainConfig, device: torch.device, check: Check
) -> Validation:
    """Score the references of the validation documents; several processes share the batches, with the same result.

    Raises:
        Interrupted: If a signal was received; several processes stop together after the validation.
        ResourceError: If memory runs out.
    """
    model.eval()
    reseed(data.seed, 0)
    precision = choose_precision(config.precision, device)
    division = BatchDivision(config.auto_batch, config.batch_tokens)

    def score(batch: Batch) -> dict[str, Tensor]:
        batch = to_device(batch, device)
        assert batch.target is not None
        with autocast(device, precision):
            scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target, lengths=batch.lengths)
        return {"log_prob": scores.log_prob.sum(), **scores.counts}

    processes = current_processes()
    scored: list[tuple[int, int, dict[str, Tensor]]] = []
    for number, indices in share_batches(validation_batches(data, config), processes):
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
    return Validation(-means.pop("log_prob"), means)


def selection_score(config: TrainConfig, metrics: Mapping[str, float]) -> float | None:
    """Return the score that selects the best weights; None if the loss does."""
    if config.select_by == "loss":
        return None
    assert config.select_by in metrics, "summaries are scored if weights are selected by their scores"
    return metrics[config.select_by]


def render_metrics(metrics: Mapping[str, float]) -> str:
    """Join metrics to a line, each with its standard error if it is known."""
    errors = {name: f" ± {value:.2g}" for name, value in metrics.items() if name.endswith(STANDARD_ERROR)}
    return ", ".join(
        f"{name} {value:.4g}{errors.get(name + STANDARD_ERROR, '')}"
        for name, value in metrics.items()
        if name not in errors
    )
