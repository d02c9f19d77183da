"""Report of a training run, renewed at every validation: sample summaries, alarms, curves."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, final

from sumpool.progress import Progress, Report
from sumpool.runs.sample_summaries import GeneratedSummary, alarms
from sumpool.training.config import TrainConfig
from sumpool.training.fit import JOURNAL
from sumpool.training.journal import SAMPLES, Journal
from sumpool.training.processes import current_processes

_SAMPLES = 2
_SHOWN_CHARACTERS = 300


class SummaryGenerator(Protocol):
    """Generates summaries of validation documents, always of the same ones, and scores them."""

    @property
    def summaries(self) -> Sequence[GeneratedSummary]:
        """Summaries of the last call, in the order of the documents."""

    def __call__(self) -> Mapping[str, float]:
        """Return the mean scores, from 0 to 100."""


@final
class TrainingReport:
    """Observer of a training run; everything but the samples is drawn from its metrics log."""

    def __init__(self, run: Path, config: TrainConfig, generator: SummaryGenerator | None, report: Report) -> None:
        """Prepare the report.

        Args:
            run: Run folder.
            config: Settings of training.
            generator: Generates summaries at every validation; None if there are none.
            report: Receives samples and alarms as notes.
        """
        self._run = run
        self._generator = generator
        self._report = report
        self._samples = Journal(run / SAMPLES)
        self._is_first = True
        self._tensorboard = None
        if "tensorboard" in config.log and current_processes().is_main:
            from sumpool.runs.tensorboard_log import TensorboardLog

            self._tensorboard = TensorboardLog(run)

    def score(self) -> Mapping[str, float]:
        """Generate summaries and return their scores; empty without a generator."""
        return self._generator() if self._generator else {}

    def record(self, step: int) -> None:
        """Append the samples of a validation, raise alarms and draw the curves.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        if self._generator:
            self._record_samples(step, self._generator.summaries)
        records = Journal(self._run / JOURNAL).read()
        if find_spec("matplotlib"):
            from sumpool.runs.curves import draw_curves

            draw_curves(self._run, records)
        elif self._is_first:
            self._note("the curves of the training are not drawn: pip install 'sumpool[plots]'")
        if self._tensorboard:
            self._tensorboard.write(records)
        self._is_first = False

    def close(self) -> None:
        """Close the files of TensorBoard."""
        if self._tensorboard:
            self._tensorboard.close()

    def _record_samples(self, step: int, summaries: Sequence[GeneratedSummary]) -> None:
        if self._is_first:
            self._samples.rewind(step)  # a killed process may have appended those of this step and of later ones
        for summary in summaries[:_SAMPLES]:
            self._samples.append("sample", step, dict(summary.to_record()))
            text = " ".join(summary.summary.split())
            shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
            self._note(f"sample {summary.id}: {shown or '(empty)'}")
        for alarm in alarms(summaries):
            self._note(alarm)

    def _note(self, note: str) -> None:
        self._report(Progress("train", note=note))
