"""`sumpool prepare`: prepare the data of a recipe and print a report."""

from typing import Annotated

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import VERIFY, Changes, RecipePath, Verify
from sumpool.cli.text import table


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
    from sumpool.progress import GRACE, interruptible
    from sumpool.recipe.language_model import load_any_recipe
    from sumpool.recipe.schema import Recipe
    from sumpool.workflows.prepare import prepare as prepare_documents
    from sumpool.workflows.prepare import prepare_running_text

    with screen() as output, interruptible(GRACE) as interruption:
        loaded = load_any_recipe(recipe, [*(changes or ()), *([VERIFY] if verify else [])])
        check = interruption.check
        if isinstance(loaded, Recipe):
            folder, report = prepare_documents(loaded, skip_bad_rows=skip_bad_rows, report=output.report, check=check)
            heading, *rows = report.rows()
            counts = report.read, report.kept, report.rejected
        else:
            folder, text = prepare_running_text(loaded, skip_bad_rows=skip_bad_rows, report=output.report, check=check)
            heading, *rows = text.rows()
            counts = text.read, text.kept, text.rejected
    output.result(table(heading, rows))
    output.result("{:,} rows read = {:,} kept + {:,} rejected; prepared in {}".format(*counts, folder))
