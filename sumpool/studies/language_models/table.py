"""Tables of a study of language models: mean over seeds by row and text, and tests against the fixed segments."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sumpool.bench.results import Column, Row, Table, text_table, unique, where
from sumpool.evaluation.statistics import Estimate
from sumpool.studies.lra.table import over_seeds
from sumpool.tasks.language_modeling.measures import (
    ScoredWindow,
    compare_language_models,
    compare_seeds,
    format_p_value,
    mean_windows,
)

LEVEL = 0.05
"""Level of significance of the paper."""
_RESAMPLES = 1000


@dataclass(frozen=True)
class StudyRun:
    """A trained and evaluated run.

    Attributes:
        row: Name of its row.
        line: Rows that a picture joins by a line.
        family: Kind of its boundaries; `vanilla` without segments.
        text: Name of its text.
        seed: Seed.
        bpc: Bits per character with its 95 % interval over windows.
        shortening_factor: Tokens per boundary; 1 without segments.
        layers: Number of layers.
        parameters: Number of parameters.
        steps: Updates.
        seconds: Processor time of the training.
        windows: Scores of each window of the text.
    """

    row: str
    line: str
    family: str
    text: str
    seed: int
    bpc: Estimate
    shortening_factor: float
    layers: int
    parameters: int
    steps: int
    seconds: float
    windows: Sequence[ScoredWindow]

    def about(self) -> dict[str, Any]:
        """Return the values of one seed for JSON."""
        names = ("seed", "shortening_factor", "parameters", "steps", "seconds")
        return {"bpc": self.bpc.mean, **{name: getattr(self, name) for name in names}}


def study_rows(runs: Sequence[StudyRun]) -> list[Row]:
    """Return one row for each row of the study and text, with means over the seeds.

    The interval of the bits per character is Student's over seeds, of a single seed the bootstrap's over windows.
    """
    rows = []
    for text in dict.fromkeys(run.text for run in runs):
        for name in dict.fromkeys(run.row for run in runs if run.text == text):
            seeds = [run for run in runs if (run.text, run.row) == (text, name)]
            bpc = over_seeds([run.bpc for run in seeds])
            rows.append(
                Row(
                    {
                        "row": name,
                        "line": seeds[0].line,
                        "family": seeds[0].family,
                        "text": text,
                        "bpc": bpc.mean,
                        "low": bpc.low,
                        "high": bpc.high,
                        "factor": fmean(run.shortening_factor for run in seeds),
                        "layers": seeds[0].layers,
                        "parameters": seeds[0].parameters,
                        "steps": round(fmean(run.steps for run in seeds)),
                        "seconds": fmean(run.seconds for run in seeds),
                        "runs": [run.about() for run in seeds],
                    }
                )
            )
    return rows


def difference_rows(runs: Sequence[StudyRun]) -> list[Row]:
    """Compare every row with learned or linguistic segments with every row with fixed ones or none, by text.

    The t-test over seeds is the paper's; that over windows is of the mean over the seeds on each window.
    """
    rows = []
    for text in dict.fromkeys(run.text for run in runs):
        of_text = [run for run in runs if run.text == text]
        names = dict.fromkeys((run.row, run.family) for run in of_text)
        baselines = [name for name, family in names if family in ("vanilla", "fixed")]
        for name in (name for name, _ in names if name not in baselines):
            rows += [_difference(of_text, name, other) for other in baselines]
    return rows


def _difference(runs: Sequence[StudyRun], name: str, other: str) -> Row:
    first, second = ([run for run in runs if run.row == row] for row in (name, other))
    by_seed = compare_seeds(*({run.seed: run.bpc.mean for run in part} for part in (first, second)))
    means = {row: mean_windows([run.windows for run in part]) for row, part in ((name, first), (other, second))}
    (by_window,) = compare_language_models(means, _RESAMPLES)
    difference = by_window.bpc.difference
    return Row(
        {
            "text": runs[0].text,
            "row": name,
            "other": other,
            "difference": difference.mean,
            "low": difference.low,
            "high": difference.high,
            "p_seeds": by_seed.p_value if by_seed and by_seed.pairs > 1 else None,
            "p_windows": by_window.t_test.p_value,
            "p_bootstrap": by_window.bpc.bootstrap,
        }
    )


def is_better(differences: Sequence[Row], name: str, text: str) -> bool:
    """Return whether a row needs fewer bits than every baseline by a significant difference.

    The test is over seeds, or over windows where there is one seed only.
    """
    compared = where(differences, {"row": name, "text": text})
    p_values = [row["p_windows"] if row["p_seeds"] is None else row["p_seeds"] for row in compared]
    return bool(compared) and all(row["difference"] < 0 for row in compared) and max(p_values) < LEVEL


def study_table(title: str, rows: Sequence[Row], differences: Sequence[Row], notes: Sequence[str]) -> Table:
    """Lay out bits per character and shortening factor by row and text, as in Table 1 of the paper."""
    texts = unique(rows, "text")
    columns = [Column("", "row")]
    for text in texts:
        columns += [
            Column(f"{text} BPC", f"bpc {text}", ".4f"),
            Column("±", f"margin {text}", ".4f"),
            Column("better", f"better {text}"),
            Column("SF", f"factor {text}", ".2f"),
        ]
    columns += [Column("parameters", "parameters", ","), Column("updates", "steps", ",")]
    columns.append(Column("processor s", "seconds", ",.0f"))
    lines = []
    for name in unique(rows, "row"):
        of_row = where(rows, {"row": name})
        values: dict[str, Any] = {"row": name, "parameters": of_row[0]["parameters"]}
        values["steps"] = round(fmean(row["steps"] for row in of_row))
        values["seconds"] = fmean(row["seconds"] for row in of_row)
        for row in of_row:
            text = row["text"]
            values |= {f"bpc {text}": row["bpc"], f"margin {text}": (row["high"] - row["low"]) / 2}
            values |= {f"factor {text}": row["factor"]}
            values |= {f"better {text}": "*" if is_better(differences, name, text) else ""}
        lines.append(Row(values))
    fixed = (
        "±: half of the 95 % interval, Student's over seeds, or the bootstrap's over windows for one seed; "
        "SF: shortening factor, tokens per boundary",
        f"*: fewer bits than without segments and with every fixed length, paired t-test, p < {LEVEL:g}",
    )
    return Table(title, columns, lines, [*fixed, *notes])


def difference_table(rows: Sequence[Row]) -> Table:
    """Lay out the differences and their tests."""
    lines = [
        (
            row["text"],
            f"{row['row']} - {row['other']}",
            f"{row['difference']:+.4f}",
            f"{row['low']:+.4f} to {row['high']:+.4f}",
            *(format_p_value(row[name]) for name in ("p_seeds", "p_windows", "p_bootstrap")),
        )
        for row in rows
    ]
    headings = ("text", "rows", "BPC", "95 % interval", "t-test, seeds", "t-test, windows", "bootstrap, windows")
    return text_table("differences in bits per character", headings, lines)
