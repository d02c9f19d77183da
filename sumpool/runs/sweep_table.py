"""What the runs of a sweep have shown, side by side: a row for each system, its seeds taken together."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, median
from typing import Any

import numpy as np

from sumpool.evaluation.statistics import SEED, Estimate, estimate

SCORES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeLsum": "ROUGE-Lsum"}
HOW_TO_READ = (
    "validation loss: nats per token, of the weights that are scored; the seconds to a loss are those of updates "
    "alone, without validating and saving",
    "tokens/s: source tokens, median over updates; peak: an update with the longest batch, weights and moments not "
    "counted",
)
_LAST = 10
"""Updates whose health figures are averaged: those at the end."""


@dataclass(frozen=True)
class Measured:
    """What a finished run has shown.

    Attributes:
        rouge: For each document, F1 from 0 to 1 of every score in `SCORES`.
        loss: Validation loss of the weights that were scored, nats per token.
        losses: Seconds of training before each validation, and its loss.
        tokens_per_second: Source tokens per second of each update.
        peak_memory: Bytes that an update needs beside weights and moments; None where nobody can know.
        health: Signs of health at the end of training, by name.
    """

    rouge: Mapping[str, tuple[float, ...]]
    loss: float
    losses: Sequence[tuple[float, float]]
    tokens_per_second: Sequence[float]
    peak_memory: int | None
    health: Mapping[str, float]

    def seconds_to(self, loss: float) -> float | None:
        """Seconds of training until a validation loss was reached; None if it never was."""
        return next((seconds for seconds, reached in self.losses if reached <= loss), None)


@dataclass(frozen=True)
class Outcome:
    """What became of one run.

    Attributes:
        row: The system.
        seed: The seed.
        parameters: Numbers that the model learns.
        steps: Updates that reach the budget.
        measured: What it has shown; None if it failed.
        failure: Why it failed.
    """

    row: str
    seed: int
    parameters: int
    steps: int
    measured: Measured | None = None
    failure: str = ""


@dataclass(frozen=True)
class System:
    """A row of the table; a list has an entry per seed that finished.

    Attributes:
        name: The system.
        parameters: Numbers that the model learns.
        seeds: Seeds that finished.
        steps: Updates.
        rouge: By name, the mean over the seeds with its 95 % interval over documents.
        rouge_by_seed: By name, the means over documents.
        validation_loss: Nats per token, of the weights that were scored.
        tokens_per_second: Source tokens per second, median over all updates; None if no seed finished.
        peak_memory: Bytes of an update beside weights and moments; None where nobody can know.
        seconds_to_target: Seconds of training to the target loss; None if it was never reached.
        health: Signs of health at the end of training, means over the seeds.
        failures: Why seeds failed, by seed.
    """

    name: str
    parameters: int
    seeds: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    rouge: dict[str, Estimate] = field(default_factory=dict)
    rouge_by_seed: dict[str, list[float]] = field(default_factory=dict)
    validation_loss: list[float] = field(default_factory=list)
    tokens_per_second: float | None = None
    peak_memory: int | None = None
    seconds_to_target: list[float | None] = field(default_factory=list)
    health: dict[str, float] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepTable:
    """The result of a sweep.

    Attributes:
        systems: One for each row that was tried.
        target_loss: Validation loss to which the seconds are counted, nats per token; None while no run has finished.
        notes: How to read it.
    """

    systems: tuple[System, ...]
    target_loss: float | None
    notes: tuple[str, ...]

    def to_json(self) -> str:
        """Write the table as JSON, figures unrounded."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def to_markdown(self) -> str:
        """Write the table and how to read it as Markdown."""
        columns, rows = self.table()
        lines = [
            " | ".join(cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
            for cells in (columns, ["---"] * len(columns), *rows)
        ]
        return "\n".join([*(f"| {line} |" for line in lines), "", *(f"- {note}" for note in self.notes), ""])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Titles and cells, ROUGE times 100."""
        target = "target" if self.target_loss is None else f"{self.target_loss:.3f} nats"
        columns = ["row", "parameters", *SCORES.values(), "validation loss", "tokens/s", "peak MiB", f"s to {target}"]
        return [*columns, "remarks"], [_cells(system) for system in self.systems]


def tabulate(
    outcomes: Sequence[Outcome], target_loss: float | None, resamples: int, notes: Sequence[str] = ()
) -> SweepTable:
    """Draw up the table.

    Args:
        outcomes: Of every run so far.
        target_loss: Validation loss to which the seconds are counted; None takes the worst last one of all runs.
        resamples: How often documents are drawn for an interval.
        notes: How to read it.
    """
    finished = [outcome.measured for outcome in outcomes if outcome.measured]
    if target_loss is None and finished:
        target_loss = max(measured.losses[-1][1] for measured in finished)
    names = dict.fromkeys(outcome.row for outcome in outcomes)
    systems = [_system([each for each in outcomes if each.row == name], target_loss, resamples) for name in names]
    return SweepTable(tuple(systems), target_loss, tuple(notes))


def read_journal(
    records: Sequence[Mapping[str, Any]],
) -> tuple[list[tuple[float, float]], list[float], dict[str, float]]:
    """Take out of a run's journal what `Measured` says of it: losses, tokens per second, health."""
    seconds, losses, speeds, updates = 0.0, [], [], []
    for record in records:
        if record["kind"] == "step":
            seconds += record["seconds"]
            speeds.append(float(record["tokens_per_second"]))
            updates.append(record)
        elif record["kind"] == "validation":
            losses.append((seconds, record["nats"]))
    last = updates[-_LAST:]
    names = [name for name in (last[-1] if last else ()) if name.startswith("layer_")]
    health = {name: fmean(record[name] for record in last if name in record) for name in names}
    return losses, speeds, health


def _system(outcomes: Sequence[Outcome], target_loss: float | None, resamples: int) -> System:
    """Take the seeds of a row together."""
    first = outcomes[0]
    failures = {outcome.seed: outcome.failure for outcome in outcomes if outcome.failure}
    finished = [(outcome, outcome.measured) for outcome in outcomes if outcome.measured]
    if not finished or target_loss is None:
        return System(first.row, first.parameters, failures=failures)
    runs = [measured for _, measured in finished]
    documents = list(runs[0].rouge)
    scores = np.array([[run.rouge[document] for document in documents] for run in runs])  # (seeds, documents, scores)
    by_seed = scores.mean(axis=1)  # (seeds, scores)
    peaks = [run.peak_memory for run in runs if run.peak_memory is not None]
    names = dict.fromkeys(name for run in runs for name in run.health)
    return System(
        name=first.row,
        parameters=first.parameters,
        seeds=[outcome.seed for outcome, _ in finished],
        steps=[outcome.steps for outcome, _ in finished],
        rouge=dict(zip(SCORES, estimate(scores.mean(axis=0), resamples, SEED), strict=True)),
        rouge_by_seed={name: by_seed[:, number].tolist() for number, name in enumerate(SCORES)},
        validation_loss=[run.loss for run in runs],
        tokens_per_second=median(speed for run in runs for speed in run.tokens_per_second),
        peak_memory=max(peaks, default=None),
        seconds_to_target=[run.seconds_to(target_loss) for run in runs],
        health={name: fmean(run.health[name] for run in runs if name in run.health) for name in names},
        failures=failures,
    )


def _cells(system: System) -> list[str]:
    remarks = [f"{name} {value:.3g}" for name, value in system.health.items()]
    for reason in dict.fromkeys(system.failures.values()):
        seeds = ", ".join(str(seed) for seed, other in system.failures.items() if other == reason)
        remarks.append(f"failed with seed {seeds}: {reason}")
    start, end = [system.name, f"{system.parameters:,}"], "; ".join(remarks)
    if not system.seeds:
        return [*start, *["-"] * (len(SCORES) + 4), end]
    scores = []
    for name, interval in system.rouge.items():
        means = _spread([100 * mean for mean in system.rouge_by_seed[name]], 1)
        scores.append(f"{means} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]")
    reached = [seconds for seconds in system.seconds_to_target if seconds is not None]
    return [
        *start,
        *scores,
        _spread(system.validation_loss, 3),
        f"{system.tokens_per_second:,.0f}",
        "-" if system.peak_memory is None else f"{system.peak_memory / 2**20:,.0f}",
        _spread(reached, 0) if len(reached) == len(system.seeds) else "-",
        end,
    ]


def _spread(values: Sequence[float], digits: int) -> str:
    """Write the mean, and with several seeds half of the range."""
    mean = f"{fmean(values):,.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ±{(max(values) - min(values)) / 2:,.{digits}f}"
