"""Sweeps of `sumpool train`: train or estimate several runs and compare them in one table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sumpool.cli.console import Screen
from sumpool.cli.text import table, wrap

if TYPE_CHECKING:
    from sumpool.progress import Check
    from sumpool.recipe.sweep import LoadedSweep
    from sumpool.runs.sweep_plan import Forecast


def train_sweep(loaded: "LoadedSweep", out: Path | None, dry_run: bool, output: Screen, check: "Check") -> str:
    """Train or estimate every run of a sweep and return the table of results."""
    from sumpool.workflows.sweep import forecast, sweep

    if dry_run:
        return _forecast_table(forecast(loaded, report=output.report, check=check))
    results = sweep(loaded, out, report=output.report, check=check)
    columns, rows = results.table()
    return "\n".join([table(columns, rows, f"sweep {loaded.settings.sweep}"), *map(wrap, results.notes)])


def _forecast_table(forecasts: "Sequence[Forecast]") -> str:
    rows, failures, total = [], [], 0.0
    for forecast in forecasts:
        recipe = forecast.run.recipe
        cells = [recipe.name, f"{forecast.run.parameters:,}", f"{recipe.train.steps:,}"]
        if forecast.cost is None:
            rows.append([*cells, "-", "-", "-"])
            failures.append(wrap(f"{recipe.name} failed: {forecast.failure}"))
            continue
        minutes = forecast.cost.seconds * recipe.train.steps / 60
        memory = forecast.cost.peak_memory
        total += minutes
        peak = "-" if memory is None else f"{memory / 2**20:,.0f}"
        rows.append([*cells, f"{forecast.cost.seconds:.2f}", peak, f"{minutes:,.1f}"])
    columns = ["run", "parameters", "steps", "s per step, at most", "peak MiB", "minutes, at most"]
    sum_of_runs = f"all runs: {total:,.0f} min at most, validation and evaluation not counted"
    return "\n".join([table(columns, rows), *failures, sum_of_runs])
