"""`sumpool prune`: importance of attention heads, and a model without the least important ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import Changes, share, whole_number
from sumpool.cli.text import print_message, table, wrap
from sumpool.text.escaping import escape_line

if TYPE_CHECKING:
    from sumpool.workflows.prune import HeadPruning


def prune(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of the model.")],
    heads: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            parser=share("--heads"),
            help="Share of all heads to remove; default: only list them.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to create; default: RUN-pruned beside RUN.")
    ] = None,
    documents: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number("--documents"), help="Validation documents to take, the first ones."
        ),
    ] = 100,
    changes: Changes = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of tables.")] = False,
) -> None:
    """List the importance of attention heads, and remove the least important ones.

    The importance of a head is the mean of |dL/dgate| over validation documents, relative to the other heads of its
    layer. The smaller model works wherever a run folder does, such as for train.init_from, which trains it further.
    """
    from sumpool.progress import GRACE, interruptible
    from sumpool.workflows.prune import prune_heads

    with screen() as output:
        with interruptible(GRACE) as interruption:
            result = prune_heads(
                run,
                heads,
                out,
                documents=documents,
                overrides=changes or (),
                report=output.report,
                check=interruption.check,
            )
        output.result(_json(result) if json else _text(result))
    if result.folder:
        print_message(f"next: sumpool summarize --model {result.folder} doc.txt; sumpool evaluate {result.folder}")


def _json(result: "HeadPruning") -> str:
    from dataclasses import asdict
    from json import dumps

    return dumps(asdict(result), ensure_ascii=False, indent=2)


def _text(result: "HeadPruning") -> str:
    """Render a table of heads, one of costs, and a line for each attention that keeps all heads."""
    rows = []
    for entry in result.attentions:
        marks = ("*" if head in entry.removed else "" for head in entry.heads)
        cells = (f"{value:.2f}{mark}" for value, mark in zip(entry.importance, marks, strict=True))
        rows.append([entry.attention.replace(".layers.", " ").replace(".", " "), " ".join(cells)])
    parts = [table(["attention", "importance of its heads (* removed)"], rows)]
    costs = [("before", result.before), *([("after", result.after)] if result.after else [])]
    parts.append(
        table(
            ["model", "validation loss", "heads", "parameters", "seconds"],
            [
                [name, f"{cost.loss:.4f}", str(cost.heads), f"{cost.parameters:,}", f"{cost.seconds:.2f}"]
                for name, cost in costs
            ],
        )
    )
    parts += [wrap(f"{entry.attention} keeps all heads: {entry.fixed}") for entry in result.attentions if entry.fixed]
    return "\n\n".join([*parts, *([escape_line(result.folder)] if result.folder else [])])
