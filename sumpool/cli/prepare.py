"""`sumpool prepare`: a recipe in, prepared data and its report out."""

from typing import Annotated

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import Changes, RecipePath
from sumpool.cli.text import table


def prepare(
    recipe: RecipePath,
    changes: Changes = None,
    skip_bad_rows: Annotated[
        bool,
        typer.Option("--skip-bad-rows", help="List rows that cannot be used in rejects.jsonl instead of stopping."),
    ] = False,
) -> None:
    """Prepare the data of a recipe and report on it.

    Learns the vocabulary and the ends of sentences, and writes token shards. Training does this by itself.
    """
    from sumpool.recipe.load import load_recipe
    from sumpool.workflows.prepare import prepare as prepare_data

    with screen() as shown:
        loaded = load_recipe(recipe, changes or ())
        folder, report = prepare_data(loaded, skip_bad_rows=skip_bad_rows, report=shown.report)
    heading, *rows = report.rows()
    shown.result(table(heading, rows))
    shown.result(
        f"{report.read:,} rows read = {report.kept:,} kept + {report.rejected:,} rejected; prepared in {folder}"
    )
