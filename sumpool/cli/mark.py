"""`sumpool mark`: sheets on which a reader marks the sentences of a summary."""

from pathlib import Path
from typing import Annotated

import typer

from sumpool.cli.console import print_message, screen
from sumpool.cli.options import Glob
from sumpool.documents.document import ReadOptions
from sumpool.errors import DataError


def mark(
    files: Annotated[list[str], typer.Argument(metavar="FILE|FOLDER", help="Documents to be marked.")],
    out_dir: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the sheets.")] = Path("marks"),
    glob: Glob = "*",
) -> None:
    """Write a sheet for each document, on which a reader marks what a summary should consist of.

    A sheet is a text file: fields to fill in, such as `best: 4 17`, and below them the sentences of the document with
    their numbers. Train from them with --set select.marks=DIR. Sheets that are there already stay as they are.
    """
    from sumpool.documents.read import read_all
    from sumpool.ranking.marks import write_sheets

    with screen() as output:
        written = write_sheets(read_all(files, ReadOptions(glob=glob)), out_dir, print_message)
        if not written and not any(out_dir.rglob("*.txt")):
            raise DataError(f"{', '.join(files)} must hold documents to be marked, got none that can be")
        print_message(f"fill in the fields of each sheet, then: sumpool train RECIPE --set select.marks={out_dir}")
        output.result(f"{out_dir}: {written:,} new sheet{'s' * (written != 1)}")
