"""Table of a sweep: one row per system, aggregated over its seeds."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, median

import numpy as np

from sumpool.evaluation.statistics import SEED, Estimate, estimate
from sumpool.runs.run_metrics import TITLES, Columns, RunMetrics
from sumpool.text.escaping import escape_line, escape_markdown_line, markdown_table

_PEAK = "peak: an update with the longest batch, weights and moments not counted"
HOW_TO_READ = {
    "rouge": (
        "validation loss: nats per token, of the weights that are scored; the seconds to a loss are those of updates "
        "alone, without validating and saving",
        f"tokens/s: source tokens, median over updates; {_PEAK}",
    ),
    "perplexity": (
        "perplexity: exp(validation loss) of the weights that are scored",
        "tokens/s: source tokens, in training the median over updates, in evaluation of a forward pass over the "
        f"longest batch; {_PEAK}",
    ),
}
HOW_TO_READ["accuracy"] = HOW_TO_READ["rouge"]
"""Notes on the columns, by `columns` of the sweep."""


@dataclass(frozen=True)
class Outcome:
    """Metrics of one run, or why it failed."""

    row: str
    seed: int
    parameters: int
    steps: int
    metrics: RunMetrics | None = None
    failure: str = ""


@dataclass(frozen=True)
class SweepResult:
    """Result of one row; lists have an entry per seed that finished.

    Attributes:
        name: Name of the row.
        parameters: Number of parameters of the model.
        seeds: Seeds that finished.
        steps: Updates of each seed.
        rouge: By name, the mean over the seeds with its 95 % interval over documents; `accuracy` of classifiers.
        rouge_by_seed: By name, the means over documents.
        validation_loss: Nats per token, of the weights that were scored.
        tokens_per_second: Source tokens per second, median over all updates; None if no seed finished.
        peak_memory: Bytes of an update beside weights and moments; None if unknown.
        seconds_to_target: Seconds of training to the target loss; None if it was never reached.
        layer_metrics: Metrics of the encoder layers at the end of training, means over the seeds.
        failures: Why seeds failed, by seed.
        rouge_l: ROUGE-L like `rouge`; None if no seed finished.
        evaluation_speed: Source tokens per second of a forward pass in evaluation, median over the seeds; None if
            unknown.
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
    layer_metrics: dict[str, float] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    rouge_l: Estimate | None = None
    evaluation_speed: float | None = None


@dataclass(frozen=True)
class SweepTable:
    """The result of a sweep.

    Attributes:
        systems: Result of each row that was tried.
        target_loss: Validation loss to which the seconds are counted, nats per token; None while no run has finished.
        notes: Notes on reading the table.
        columns: Columns of the table.
    """

    systems: tuple[SweepResult, ...]
    target_loss: float | None
    notes: tuple[str, ...]
    columns: Columns = "rouge"

    def to_json(self) -> str:
        """Render the table as JSON, with unrounded values."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def to_markdown(self) -> str:
        """Render the table and its notes as Markdown."""
        columns, rows = self.table()
        notes = [f"- {escape_line(note)}" for note in self.notes]
        escaped = [[*cells, escape_markdown_line(" ".join(remarks.split()))] for *cells, remarks in rows]
        return "\n".join([*markdown_table([columns, *escaped]), "", *notes, ""])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return column titles and cells, with ROUGE times 100."""
        if self.columns == "perplexity":
            titles = ["perplexity", "ROUGE-2", "ROUGE-L", "tokens/s, training", "tokens/s, evaluation", "peak MiB"]
            return ["row", "parameters", *titles, "remarks"], [_perplexity_cells(system) for system in self.systems]
        target = "target" if self.target_loss is None else f"{self.target_loss:.3f} nats"
        scores = TITLES[self.columns].values()
        titles = ["row", "parameters", *scores, "validation loss", "tokens/s", "peak MiB", f"s to {target}", "remarks"]
        return titles, [_cells(system, len(scores)) for system in self.systems]


def tabulate(
    outcomes: Sequence[Outcome],
    target_loss: float | None,
    resamples: int,
    notes: Sequence[str] = (),
    columns: Columns = "rouge",
) -> SweepTable:
    """Aggregate the outcomes of runs to a table.

    Args:
        outcomes: Outcome of every run so far.
        target_loss: Validation loss to which the seconds are counted; None takes the highest last loss of all runs.
        resamples: Bootstrap resamples of an interval.
        notes: Notes on reading the table.
        columns: Columns of the table.
    """
    finished = [outcome.metrics for outcome in outcomes if outcome.metrics]
    if target_loss is None and finished:
        target_loss = max(metrics.losses[-1][1] for metrics in finished)
    names = dict.fromkeys(outcome.row for outcome in outcomes)
    systems = [
        _aggregate([outcome for outcome in outcomes if outcome.row == name], target_loss, resamples, TITLES[columns])
        for name in names
    ]
    return SweepTable(tuple(systems), target_loss, tuple(notes), columns)


def _aggregate(
    outcomes: Sequence[Outcome], target_loss: float | None, resamples: int, titles: Mapping[str, str]
) -> SweepResult:
    """Aggregate the seeds of a row."""
    first = outcomes[0]
    failures = {outcome.seed: outcome.failure for outcome in outcomes if outcome.failure}
    finished = [(outcome, outcome.metrics) for outcome in outcomes if outcome.metrics]
    if not finished or target_loss is None:
        return SweepResult(first.row, first.parameters, failures=failures)
    runs = [metrics for _, metrics in finished]
    documents = list(runs[0].rouge)
    scores = np.array([[run.rouge[document] for document in documents] for run in runs])  # (seeds, documents, scores)
    by_seed = scores.mean(axis=1)  # (seeds, scores)
    peaks = [run.peak_memory for run in runs if run.peak_memory is not None]
    speeds = [run.evaluation_speed for run in runs if run.evaluation_speed is not None]
    names = dict.fromkeys(name for run in runs for name in run.layer_metrics)
    return SweepResult(
        name=first.row,
        parameters=first.parameters,
        seeds=[outcome.seed for outcome, _ in finished],
        steps=[outcome.steps for outcome, _ in finished],
        rouge=dict(zip(titles, estimate(scores.mean(axis=0), resamples, SEED), strict=True)),
        rouge_by_seed={name: by_seed[:, number].tolist() for number, name in enumerate(titles)},
        validation_loss=[run.loss for run in runs],
        tokens_per_second=median(speed for run in runs for speed in run.tokens_per_second),
        peak_memory=max(peaks, default=None),
        seconds_to_target=[run.seconds_to(target_loss) for run in runs],
        layer_metrics={
            name: fmean(run.layer_metrics[name] for run in runs if name in run.layer_metrics) for name in names
        },
        failures=failures,
        rouge_l=_mean_rouge_l(runs, resamples),
        evaluation_speed=median(speeds) if speeds else None,
    )


def _mean_rouge_l(runs: Sequence[RunMetrics], resamples: int) -> Estimate | None:
    scores = [run.rouge_l for run in runs if run.rouge_l]
    return estimate(np.array(scores).mean(axis=0)[:, None], resamples, SEED)[0] if scores else None


def _remarks(system: SweepResult) -> str:
    remarks = [f"{name} {value:.3g}" for name, value in system.layer_metrics.items()]
    for reason in dict.fromkeys(system.failures.values()):
        seeds = ", ".join(str(seed) for seed, other in system.failures.items() if other == reason)
        remarks.append(f"failed with seed {seeds}: {reason}")
    return "; ".join(remarks)


def _perplexity_cells(system: SweepResult) -> list[str]:
    start, end = [system.name, f"{system.parameters:,}"], _remarks(system)
    if not system.seeds:
        return [*start, *["-"] * 6, end]
    return [
        *start,
        _spread([math.exp(loss) for loss in system.validation_loss], 2),
        _percent(system.rouge["rouge2"]),
        "-" if system.rouge_l is None else _percent(system.rouge_l),
        f"{system.tokens_per_second:,.0f}",
        "-" if system.evaluation_speed is None else f"{system.evaluation_speed:,.0f}",
        _mebibytes(system.peak_memory),
        end,
    ]


def _percent(score: Estimate) -> str:
    return f"{100 * score.mean:.1f} [{100 * score.low:.1f}, {100 * score.high:.1f}]"


def _mebibytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 2**20:,.0f}"


def _cells(system: SweepResult, scored: int) -> list[str]:
    start, end = [system.name, f"{system.parameters:,}"], _remarks(system)
    if not system.seeds:
        return [*start, *["-"] * (scored + 4), end]
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
        _mebibytes(system.peak_memory),
        _spread(reached, 0) if len(reached) == len(system.seeds) else "-",
        end,
    ]


def _spread(values: Sequence[float], digits: int) -> str:
    """Format the mean and, with several seeds, half of the range."""
    mean = f"{fmean(values):,.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ±{(max(values) - min(values)) / 2:,.{digits}f}"
