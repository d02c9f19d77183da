"""`sumpool bench`: a recipe, a run or the name of a suite in, tables of what it costs out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import Changes
from sumpool.cli.text import table
from sumpool.errors import RecipeError

if TYPE_CHECKING:
    from sumpool.bench.result import BenchReport

Suite = Literal["operators", "complexity", "tables", "shortening", "selection", "transformers"]
SUITES: tuple[Suite, ...] = get_args(Suite)
SPARSITY = "sparsity"
"""What is measured of a run's weights."""


def bench(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUITE|RUN|RECIPE]",
            help=f"One of {', '.join(SUITES)}, {SPARSITY}; or a run folder or recipe, by default the newest run.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help=f"The run ({SPARSITY}), by default the newest.", show_default=False),
    ] = None,
    lengths: Annotated[
        list[int] | None,
        typer.Option("--length", metavar="TOKENS", help="Source tokens; may be given often.", show_default=False),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option("--table", metavar="2|7|8|10", help="Which table of the paper (tables).", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write everything as JSON.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png",
            help="Also draw a picture (operators, shortening, selection, sparsity).",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    changes: Changes = None,
) -> None:
    """Measure a model by length, or one of the papers' benchmarks.

    operators pools random vectors; complexity counts operations and bytes of every variant; tables times the models of
    a table of the paper; shortening pools less and more; selection lets a summary see some sentences only;
    transformers writes with a BART of theirs and with ours made from it. A run or recipe is measured beside the same
    model without pooling. All of these have random weights and documents; sparsity tells of a run's own weights how few
    sentences hold its attention. Sizes and repetitions change with --set bench.batch=8.
    """
    from sumpool.bench.plots import draw, require_plots
    from sumpool.interruption import interruptible
    from sumpool.recipe.problems import hint
    from sumpool.workflows import bench as workflow

    suite = next((name for name in SUITES if name == target), None)
    if target and target not in (*SUITES, SPARSITY) and not Path(target).exists():
        kinds = ", ".join((*SUITES, SPARSITY))
        meant = hint(target, (*SUITES, SPARSITY))
        raise RecipeError(f"{target} must be one of {kinds}, or a run folder or recipe that is there{meant}")
    if run and target != SPARSITY:
        raise RecipeError(f"a second name must follow {SPARSITY} only, got {run} after {target}")
    if plot:
        require_plots(SPARSITY if target == SPARSITY else suite or "a model", plot)
    overrides = [*(changes or ()), *([] if number is None else [f"bench.table={number}"])]
    if target == SPARSITY:
        measure = partial(workflow.bench_sparsity, run)
    elif suite:
        measure = partial(workflow.bench_suite, suite)
    else:
        measure = partial(workflow.bench, Path(target) if target else None)
    with screen() as shown, interruptible() as interruption:
        report = measure(overrides=overrides, lengths=lengths or (), report=shown.report, check=interruption.check)
    if plot:
        draw(report.found, plot)
    if out:
        out.write_text(report.to_json() + "\n", encoding="utf-8")
    shown.result(report.to_json() if json else _tables(report))


def _tables(report: "BenchReport") -> str:
    return "\n".join(
        "\n".join([table(part.columns, part.rows, part.title), *part.notes, ""]) for part in report.tables()
    )
