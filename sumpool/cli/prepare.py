"""`sumpool prepare`: prepare the data of a recipe and print a report."""

from typing import Annotated

import typer

from sumpool.cli.console import table, working
from sumpool.cli.options import VERIFY, Changes, RecipePath, Verify


def prepare(
    recipe: RecipePath,
    changes: Changes = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Write invalid rows to rejects.jsonl instead of failing.")
    ] = False,
    verify: Verify = False,
) -> None:
    """Prepare the data of a recipe and print statistics.

    Trains the tokenizer and the sentence splitter, and writes tokenized shards. `sumpool train` does this by itself.
    """
    from sumpool.progress import told_when_stopped
    from sumpool.recipe.load import load_any_recipe
    from sumpool.recipe.task import find_task

    with working() as output, told_when_stopped("nothing was prepared, so prepare begins anew"):
        loaded = load_any_recipe(recipe, [*(changes or ()), *([VERIFY] if verify else [])])
        task = find_task(loaded.task)
        folder, report = task.prepare(loaded, skip_bad_rows=skip_bad_rows, report=output.report, check=output.check)
    heading, *rows = report.rows()
    counts = report.read, report.kept, report.rejected
    output.result(table(heading, rows))
    output.result("{:,} rows read = {:,} kept + {:,} rejected; prepared in {}".format(*counts, folder))
