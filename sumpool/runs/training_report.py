"""Report of a training run, renewed at every validation: sample summaries, alarms about those that repeat, curves.

Curves are drawn as PNG and SVG by matplotlib, and written for TensorBoard; both libraries are optional.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from sumpool.data.config import Example
from sumpool.evaluation.rouge import TITLES
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.progress import Progress, Report
from sumpool.text.fragments import overlap, repetition
from sumpool.text.language import split_words
from sumpool.training.config import TrainConfig
from sumpool.training.journal import JOURNAL, SAMPLES, Journal
from sumpool.training.processes import current_processes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAMPLES = 2
_SHOWN_CHARACTERS = 300
MAX_REPETITION = 0.2
"""Fraction of repeated trigrams above which a summary is degenerate; 1 % in those of a trained model."""
MAX_COPIED = 0.9
"""Fraction of the words that one passage of the document may make up, unless it does so in the reference."""
MIN_WORDS = 10
"""Words of a summary below which a copied passage tells nothing."""
_ALARM_SHARE = 0.5
"""Fraction of the summaries that raises an alarm."""
CURVES = ("curves.png", "curves.svg")
_COLOURS = {"train": "#56b4e9", "nats": "#0072b2", "rouge1": "#e69f00", "rouge2": "#009e73", "rougeLsum": "#cc79a7"}
"""Distinguishable for colour-blind readers too (Okabe and Ito)."""
_POINTS = 400
"""Points of the training loss at most; more updates are averaged."""
TENSORBOARD = "tensorboard"


@dataclass(frozen=True)
class GeneratedSummary:
    """A summary that was generated during training.

    Attributes:
        id: Id of the document.
        summary: The summary.
        repeated: Fraction of trigrams that occurred earlier in the summary.
        copied: Fraction of the words in the longest passage that the document contains too.
        novel_bigrams: Fraction of bigrams that the document lacks.
        reference_copied: The fraction `copied` of the reference summary.
    """

    id: str
    summary: str
    repeated: float
    copied: float
    novel_bigrams: float
    reference_copied: float

    @property
    def faults(self) -> list[str]:
        """Faults of the summary, as clauses about several of them."""
        if not self.summary.strip():
            return ["are empty"]
        faults = []
        if self.repeated > MAX_REPETITION:
            faults.append(f"repeat themselves: more than {MAX_REPETITION:.0%} of their trigrams occur twice")
        is_long = len(split_words(self.summary)) >= MIN_WORDS
        if is_long and self.copied > MAX_COPIED >= self.reference_copied:
            faults.append("are one passage of the document, copied whole, unlike the references")
        return faults

    def to_record(self) -> dict[str, str | float]:
        """Return the record of the summary in a log of samples."""
        shares = {name: round(getattr(self, name), 4) for name in ("repeated", "copied", "novel_bigrams")}
        return {"id": self.id, "summary": self.summary, **shares}


def examine(example: Example, summary: str) -> GeneratedSummary:
    """Compare a generated summary with its document."""
    document, generated, reference = map(split_words, (example.document, summary, example.summary))
    shared = overlap(document, generated)
    return GeneratedSummary(
        id=example.id,
        summary=summary,
        repeated=repetition(summary),
        copied=_longest(shared.runs),
        novel_bigrams=shared.novel_ngrams(2),
        reference_copied=_longest(overlap(document, reference).runs),
    )


Generator = Callable[[], tuple[Mapping[str, float], Sequence[GeneratedSummary]]]
"""Generates summaries of validation documents, always of the same ones, and returns their mean scores, from 0 to 100,
with the summaries in the order of the documents."""


def alarms(summaries: Sequence[GeneratedSummary]) -> Iterator[str]:
    """Warn of every fault that half of the summaries have."""
    for fault, count in Counter(fault for summary in summaries for fault in summary.faults).items():
        if count >= _ALARM_SHARE * len(summaries):
            yield f"warning: {count} of {len(summaries)} generated summaries {fault}"


def _longest(runs: Sequence[int]) -> float:
    return max(runs, default=0) / max(len(runs), 1)


@final
class TrainingReport:
    """Observer of a training run; everything but the samples is drawn from its metrics log."""

    def __init__(self, run: Path, config: TrainConfig, generator: Generator | None, report: Report) -> None:
        """Prepare the report.

        Args:
            run: Run folder.
            config: Settings of training.
            generator: Generates and scores summaries at every validation; None if there are none.
            report: Receives samples and alarms as notes.
        """
        self._run = run
        self._generator = generator
        self._report = report
        self._samples = Journal(run / SAMPLES)
        self._summaries: Sequence[GeneratedSummary] = ()
        self._is_first = True
        self._tensorboard = None
        if "tensorboard" in config.log and current_processes().is_main:
            self._tensorboard = TensorboardLog(run)

    def score(self) -> Mapping[str, float]:
        """Generate summaries and return their scores; empty without a generator."""
        if not self._generator:
            return {}
        scores, self._summaries = self._generator()
        return scores

    def record(self, step: int) -> None:
        """Append the samples of a validation, raise alarms and draw the curves.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        if self._generator:
            if self._is_first:
                self._samples.rewind(step)  # a killed process may have appended those of this step and of later ones
            for summary in self._summaries[:_SAMPLES]:
                self._samples.append("sample", step, summary.to_record())
                text = " ".join(summary.summary.split())
                shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
                self._report(Progress("train", note=f"sample {summary.id}: {shown or '(empty)'}"))
            for alarm in alarms(self._summaries):
                self._report(Progress("train", note=alarm))
        records = Journal(self._run / JOURNAL).read()
        if find_spec("matplotlib"):
            draw_curves(self._run, records)
        elif self._is_first:
            self._report(
                Progress("train", note="the curves of the training are not drawn: pip install 'sumpool[plots]'")
            )
        if self._tensorboard:
            self._tensorboard.write(records)
        self._is_first = False

    def close(self) -> None:
        """Close the files of TensorBoard."""
        if self._tensorboard:
            self._tensorboard.close()


def draw_curves(run: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Draw the losses, and the scores if there are any, of a metrics log, and save them in the run folder.

    Raises:
        ResourceError: If the disk is full or fails.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    updates = [record for record in records if record["kind"] == "step"]
    validations = [record for record in records if record["kind"] == "validation"]
    names = [name for name in TITLES if any(name in record for record in validations)]
    with mpl.rc_context({"svg.hashsalt": "sumpool", "svg.fonttype": "none"}):  # equal files for equal curves
        figure = Figure(figsize=(10 if names else 6, 4))
        panels = figure.subplots(1, 2 if names else 1, squeeze=False)[0]
        margin = 0.07 if names else 0.12
        figure.subplots_adjust(margin, 0.13, 0.98, 0.97, wspace=0.18)  # twice as fast as an automatic layout
        steps, losses = (np.array([record[name] for record in updates], float) for name in ("step", "nats"))
        width = -(-len(steps) // _POINTS)
        if width:
            edges = np.arange(0, len(steps), width)
            counts = np.diff([*edges, len(steps)])
            points = [np.add.reduceat(values, edges) / counts for values in (steps, losses)]
            panels[0].plot(*points, color=_COLOURS["train"], linewidth=1, label="training")
        _draw_validations(panels[0], validations, "nats", "validation")
        best = [record["step"] for record in validations if record.get("best")]
        if best:
            panels[0].axvline(best[-1], color="0.6", linestyle=":", linewidth=1, label="best weights")
        _finish(panels[0], "loss, nats per token", "upper right")
        if names:
            for name in names:
                _draw_validations(panels[1], validations, name, TITLES[name])
            panels[1].set_ylim(bottom=0)
            _finish(panels[1], "ROUGE of validation documents, F1 x 100", "lower right")
        for name in CURVES:
            content, is_svg = io.BytesIO(), name.endswith("svg")
            figure.savefig(content, format=name[-3:], dpi=120, metadata={"Date": None} if is_svg else None)
            with disk_errors(run / name):
                replace_file(run / name, content.getvalue())


def _draw_validations(axes: "Axes", validations: Sequence[Mapping[str, Any]], name: str, label: str) -> None:
    points = [(record["step"], record[name]) for record in validations if name in record]
    if points:
        axes.plot(*zip(*points, strict=True), color=_COLOURS[name], marker="o", markersize=3, label=label)


def _finish(axes: "Axes", label: str, legend: Literal["upper right", "lower right"]) -> None:
    axes.set_xlabel("updates")
    axes.set_ylabel(label)
    axes.grid(visible=True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc=legend)  # the best place takes seconds to find, of which matplotlib warns


class TensorboardLog:
    """Files of one process for TensorBoard, in the folder `tensorboard` of a run."""

    def __init__(self, run: Path) -> None:
        """Open the folder; files of earlier processes are removed, as a killed one may have logged repeated steps.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        from torch.utils.tensorboard import SummaryWriter

        folder = run / TENSORBOARD
        with disk_errors(folder):
            for path in () if folder.is_symlink() else folder.glob("events.out.tfevents.*"):
                path.unlink()
            self._writer = SummaryWriter(str(folder))
        self._written = 0

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Write the records of a metrics log that are not written yet, given all of them."""
        for record in records[self._written :]:
            group = "train" if record["kind"] == "step" else record["kind"]
            for name, value in record.items():
                if name != "step" and isinstance(value, int | float):
                    self._writer.add_scalar(f"{group}/{name}", value, record["step"])
        self._written = len(records)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()
