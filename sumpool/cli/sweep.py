"""A sweep's part of `sumpool train`: several runs in, a table out."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sumpool.cli.console import Screen
from sumpool.cli.text import table

if TYPE_CHECKING:
    from sumpool.interruption import Check
    from sumpool.recipe.sweep import LoadedSweep
    from sumpool.workflows.sweep import Forecast


def train_sweep(loaded: "LoadedSweep", out: Path | None, dry_run: bool, shown: Screen, check: "Check") -> str:
    """Train or try every run of a sweep, and lay out what came of it."""
    from sumpool.workflows.sweep import forecast, sweep

    if dry_run:
        return _forecasts(forecast(loaded, report=shown.report, check=check))
    found = sweep(loaded, out, report=shown.report, check=check)
    columns, rows = found.table()
    return "\n".join([table(columns, rows, f"sweep {loaded.settings.sweep}"), *found.notes])


def _forecasts(found: "Sequence[Forecast]") -> str:
    rows, total = [], 0.0
    for each in found:
        recipe = each.run.recipe
        cells = [recipe.name, f"{each.run.parameters:,}", f"{recipe.train.steps:,}"]
        if each.tried is None:
            rows.append([*cells, "-", "-", "-", each.failure])
            continue
        minutes = each.tried.seconds * recipe.train.steps / 60
        memory = each.tried.peak_memory
        total += minutes
        shown = "-" if memory is None else f"{memory / 2**20:,.0f}"
        rows.append([*cells, f"{each.tried.seconds:.2f}", shown, f"{minutes:,.1f}", ""])
    columns = ["run", "parameters", "steps", "s per step, at most", "peak MiB", "minutes, at most", ""]
    end = f"all runs: {total:,.0f} min at most, validation and evaluation not counted"
    return "\n".join([table(columns, rows), end])
