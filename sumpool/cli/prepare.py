"""`sumpool prepare`: prepare the data of a recipe and print a report."""

from functools import partial
from typing import Annotated

import typer

from sumpool.cli.console import screen
from sumpool.cli.options import VERIFY, Changes, RecipePath, Verify, require_ray_for_jobs, workers_of_ray
from sumpool.cli.text import table
from sumpool.errors import RecipeError


def prepare(
    recipe: RecipePath,
    changes: Changes = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Write invalid rows to rejects.jsonl instead of failing.")
    ] = False,
    ray: Annotated[
        str | None, typer.Option(metavar="local|ADDRESS", help="Encode the documents on a Ray cluster.")
    ] = None,
    jobs: Annotated[int | None, workers_of_ray("core")] = None,
    verify: Verify = False,
) -> None:
    """Prepare the data of a recipe and print statistics.

    Trains the tokenizer and the sentence splitter, and writes tokenized shards. `sumpool train` does this by itself.
    """
    from sumpool.progress import GRACE, interruptible
    from sumpool.recipe.language_model import load_any_recipe
    from sumpool.recipe.schema import Recipe
    from sumpool.workflows.prepare import prepare as prepare_documents
    from sumpool.workflows.prepare import prepare_on_ray, prepare_running_text

    require_ray_for_jobs(ray, jobs)
    with screen() as output, interruptible(GRACE) as interruption:
        loaded = load_any_recipe(recipe, [*(changes or ()), *([VERIFY] if verify else [])])
        check = interruption.check
        if ray and not isinstance(loaded, Recipe):
            raise RecipeError(f"--ray must come with a recipe for documents, got one of a language model: {recipe}")
        if isinstance(loaded, Recipe):
            run = partial(prepare_on_ray, address=ray, workers=jobs) if ray else prepare_documents
            folder, report = run(loaded, skip_bad_rows=skip_bad_rows, report=output.report, check=check)
            heading, *rows = report.rows()
            counts = report.read, report.kept, report.rejected
        else:
            folder, text = prepare_running_text(loaded, skip_bad_rows=skip_bad_rows, report=output.report, check=check)
            heading, *rows = text.rows()
            counts = text.read, text.kept, text.rejected
    output.result(table(heading, rows))
    output.result("{:,} rows read = {:,} kept + {:,} rejected; prepared in {}".format(*counts, folder))
