"""Evaluation of language models on the terminal: scores, lengths of segments, a sample, and differences."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sumpool.cli.console import screen
from sumpool.cli.segments import mark_segments, shows_colours
from sumpool.cli.text import table

if TYPE_CHECKING:
    from sumpool.evaluation.language_modeling import LanguageModelReport
    from sumpool.workflows.evaluate_language_models import LanguageModelEvaluation


def print_language_models(
    runs: Sequence[Path],
    split: Literal["train", "validation", "test"],
    limit: int | None,
    out: Path | None,
    *,
    resume: bool,
    json: bool,
    changes: tuple[str, ...],
) -> None:
    """Evaluate language models, and print bits per character, segments and, of several models, their differences."""
    from sumpool.evaluation.task import Results
    from sumpool.progress import GRACE, interruptible
    from sumpool.workflows.evaluate_language_models import evaluate_language_models

    with screen() as output, interruptible(GRACE) as interruption:
        evaluation = evaluate_language_models(
            runs,
            split,
            overrides=changes,
            limit=limit,
            results=Results(folder=out, resume=resume),
            report=output.report,
            check=interruption.check,
        )
    if json:
        output.result(evaluation.to_json().rstrip())
        return
    output.result("\n\n".join(_tables(evaluation)))
    for report in evaluation.reports.values():
        if report.sample:
            sys.stdout.write(f"\n{mark_segments(report.sample, shows_colours())}\n")
    sys.stdout.flush()


def _tables(evaluation: "LanguageModelEvaluation") -> list[str]:
    """Lay out the scores and the lengths of each model, and the differences of several."""
    from sumpool.evaluation.language_model_comparison import DIFFERENCE_COLUMNS

    tables = [part for name, report in evaluation.reports.items() for part in _of_model(name, report)]
    if evaluation.differences:
        rows = [difference.row() for difference in evaluation.differences]
        tables.append(table(DIFFERENCE_COLUMNS, rows, title="differences on the same windows, bits per character"))
    return tables


def _of_model(name: str, report: "LanguageModelReport") -> list[str]:
    scores = table(["", "", "95 % interval"], report.score_rows(), title=f"{name}, {report.split}, {report.protocol}")
    if not report.segments:
        return [scores]
    lengths = report.segments
    title = (
        f"segments: {lengths.segments:,}, mean length {lengths.mean:.2f}, standard deviation {lengths.deviation:.2f}, "
        f"median {lengths.median}, 90th percentile {lengths.p90}, longest {lengths.longest:,}"
    )
    return [scores, table(["length", "segments", "%"], lengths.rows(), title=title)]
