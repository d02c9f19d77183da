"""`sumpool prune`: importance of attention heads, and a model with the least important ones masked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sumpool.cli.console import as_json, print_message, table, working
from sumpool.cli.options import Changes, RunFolder, share, whole_number
from sumpool.text.cleaning import escape_line

if TYPE_CHECKING:
    from sumpool.workflows.prune import HeadPruning


def prune(
    run: RunFolder,
    heads: Annotated[
        float | None, share("--heads", "Share of all heads to mask; default: only list them.", "SHARE")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to create; default: RUN-pruned beside RUN.")
    ] = None,
    documents: Annotated[int, whole_number("--documents", "Validation documents to take, the first ones.")] = 100,
    gates: Annotated[
        int, whole_number("--gates", "Train a gate of every head too; 0: none.", 0, metavar="UPDATES")
    ] = 0,
    penalty: Annotated[float, share("--penalty", "Weight of the expected number of open gates.", "NATS")] = 0.01,
    changes: Changes = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of tables.")] = False,
) -> None:
    """List the importance of attention heads, and mask the least important ones.

    The importance of a head is the mean of |dL/dgate| over validation documents, relative to the other heads of its
    layer. The new folder works wherever a run folder does; the outputs of masked heads are 0 in it. --gates trains
    gates with an L0 penalty, and compares the loss without the heads whose gates close.
    """
    from sumpool.workflows.prune import prune_heads

    with working() as output:
        result = prune_heads(
            run,
            heads,
            out,
            documents=documents,
            gates=gates,
            penalty=penalty,
            overrides=changes or (),
            report=output.report,
            check=output.check,
        )
        output.result(as_json(result) if json else _text(result))
    if result.folder:
        print_message(f"next: sumpool summarize --model {result.folder} doc.txt; sumpool evaluate {result.folder}")


def _text(result: "HeadPruning") -> str:
    """Render a table of heads, and one of losses."""
    rows = []
    for entry in result.attentions:
        marks = ("*" if head in entry.masked else "" for head in entry.heads)
        cells = (f"{value:.2f}{mark}" for value, mark in zip(entry.importance, marks, strict=True))
        gates = " ".join(f"{value:.2f}" for value in entry.open_gates)
        rows.append([entry.attention.replace(".layers.", " ").replace(".", " "), " ".join(cells), gates])
    parts = [table(["attention", "importance of its heads (* masked)", "probability of open gates"], rows)]
    models = {"before": result.before, "after": result.after, "after, by gates": result.by_gates}
    losses = [[name, f"{model.loss:.4f}", str(model.heads)] for name, model in models.items() if model]
    parts.append(table(["model", "validation loss", "heads"], losses))
    return "\n\n".join([*parts, *([escape_line(result.folder)] if result.folder else [])])
