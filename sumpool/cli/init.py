"""`sumpool init`: documents in, a commented recipe out."""

from pathlib import Path
from typing import Annotated

import typer

from sumpool.cli.console import working
from sumpool.cli.text import print_message


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
) -> None:
    """Write a recipe for your documents: guessed fields, and sizes from measured lengths.

    The recipe trains as written; every value has a comment. Next: sumpool train NAME.yaml
    """
    from sumpool.workflows.init import init as write_recipe

    with working() as output:
        path = write_recipe(data, out, report=output.report, check=output.check)
    print_message(f"next: sumpool train {path} --dry-run; sumpool train {path}")
    output.result(str(path))
