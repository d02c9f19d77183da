"""`sumpool evaluate --faithfulness`: whether the model needs the sentences that its evidence names."""

from pathlib import Path

from sumpool.data.sources._base import Split
from sumpool.data.texts import Texts
from sumpool.documents.document import Document
from sumpool.errors import DataError
from sumpool.inference.faithfulness import FaithfulnessReport, measure_faithfulness
from sumpool.inference.loading import load_for_generation
from sumpool.progress import Check, Report, no_op
from sumpool.runs.run_folder import spread
from sumpool.tasks.summarization.evaluate import prepared_folder

DEFAULT_LIMIT = 100
"""Documents of a call that names no number."""


def evaluate_faithfulness(
    run: Path | None = None,
    split: Split = "test",
    *,
    overrides: tuple[str, ...] = (),
    limit: int | None = None,
    report: Report = no_op,
    check: Check = no_op,
) -> FaithfulnessReport:
    """Measure the faithfulness of a model's attributions on a split of its data.

    Args:
        run: The run folder; None takes the newest one.
        split: Part of the data.
        overrides: Settings to change, each like `summarize.beams=1`.
        limit: Documents to take, evenly spread over the split; None takes 100.
        report: Called with progress.
        check: Called between documents.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting or the limit is wrong.
        DataError: If the prepared data is missing, or no document has two sentences and a summary.
    """
    # 1. Load the model and open the documents of its data.
    loaded = load_for_generation(run, overrides)
    prepared = prepared_folder(loaded.folder, loaded.recipe, check)
    texts = Texts.open(prepared, split)
    indices = spread(len(texts), limit or DEFAULT_LIMIT)
    documents = [Document(example.id, example.document) for example in map(texts.__getitem__, indices)]
    # 2. Generate summaries, attribute them, and delete sentences.
    try:
        return measure_faithfulness(documents, loaded, loaded.recipe.evaluate.resamples, split, report, check)
    except ValueError as error:
        raise DataError(f"{prepared / split} cannot be measured: {error}") from error
