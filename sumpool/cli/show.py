"""`sumpool show`: describe one run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.console import as_json, table, wrap
from sumpool.cli.options import RunFolder
from sumpool.cli.runs import COLUMNS, cells
from sumpool.text.cleaning import escape, escape_line

if TYPE_CHECKING:
    from sumpool.runs.run_summary import RunDetails


def show(
    run: RunFolder,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of text.")] = False,
) -> None:
    """Describe a run: settings, data, validation curve, samples and evaluations; all its files are verified."""
    from sumpool.runs.run_summary import describe_run

    details = describe_run(run)
    if json:
        typer.echo(as_json(details))
    else:
        typer.echo("\n\n".join(_sections(details)))


def _sections(details: "RunDetails") -> Iterator[str]:
    from sumpool.runs.run_summary import sparkline

    summary = details.summary
    labels = ["scores of" if name == "of" else name for name in COLUMNS]
    values = dict(zip(labels, cells(summary), strict=True))
    yield table([summary.name or "run", ""], [[name, value] for name, value in values.items() if value != "-"])
    if summary.problem:
        yield wrap(escape_line(f"damaged: {summary.problem}"))
    for title, facts in (("recipe", details.recipe), ("data", details.data)):
        if facts:
            yield table([title, ""], [[name, value] for name, value in facts.items()])
    if details.validations:  # the curve of every metric
        first, last = details.validations[0], details.validations[-1]
        lines = [f"validations after steps {first['step']:,} to {last['step']:,}"]
        for name in (name for name in first if name != "step" and not name.endswith("_standard_error")):
            curve = [record[name] for record in details.validations if name in record]
            title = "loss" if name == "nats" else name
            lines.append(escape(f"{title:<10} {sparkline(curve)}  {curve[0]:.4g} → {curve[-1]:.4g}"))
        yield "\n".join(lines)
    for split, systems in details.systems.items():
        rows = [[name, *(f"{score:.1f}" for score in scores.values())] for name, scores in systems.items()]
        yield table([f"evaluation of {split}", *next(iter(systems.values()), {})], rows)
    for sample in details.samples:
        lines = [
            escape_line(f"sample {sample.get('id')} after step {sample.get('step')}:"),
            str(sample.get("summary", "")),
        ]
        yield escape("\n".join(map(wrap, lines)))
