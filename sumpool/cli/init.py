"""`sumpool init`: documents in, a commented recipe out."""

from pathlib import Path
from typing import Annotated

import typer

from sumpool.cli.console import print_message, working


def init(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="JSON lines, CSV or TSV (also .gz, .zst), a Parquet file, the folder of a Hugging Face dataset, or a "
            "folder of x.txt with x.summary.txt.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recipe to write; by default NAME.yaml here.")
    ] = None,
    document: Annotated[
        str | None, typer.Option(metavar="NAME", help="Field or column of the document; guessed by default.")
    ] = None,
    summary: Annotated[
        str | None, typer.Option(metavar="NAME", help="Field or column of the summary; guessed by default.")
    ] = None,
    from_scratch: Annotated[
        bool,
        typer.Option("--from-scratch", help="Random weights and a new vocabulary, not those of the shipped model."),
    ] = False,
) -> None:
    """Write a recipe that adapts the shipped model to your documents: guessed fields, steps by the number of pairs.

    The recipe trains as written; every value has a comment. Next: sumpool train NAME.yaml
    """
    from sumpool.workflows.init import init as write_recipe

    fields = {name: value for name, value in (("document", document), ("summary", summary)) if value}
    with working() as output:
        path = write_recipe(
            data, out, fields=fields, from_scratch=from_scratch, report=output.report, check=output.check
        )
    print_message(f"next: sumpool train {path} --dry-run; sumpool train {path}")
    output.result(str(path))
