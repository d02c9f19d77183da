"""`sumpool summarize`: documents in, summaries out, in the same order and as they are done."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sumpool.documents.document import Document
from sumpool.inference.loading import SHIPPED, load_for_generation
from sumpool.inference.summaries import Summary, SummaryFile, generate_summaries, save_summaries
from sumpool.progress import Check, Progress, Report, go_on, silent


def summarize(
    documents: Iterable[Document],
    folder: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    out: Path | None = None,
    resume: bool = False,
    report: Report = silent,
    check: Check = go_on,
) -> Iterator[Summary]:
    """Summarise documents; each gets a summary or a reason, in the order of the documents.

    Args:
        documents: The documents; ids may repeat.
        folder: The run folder; None takes the newest run, or the shipped model if there is none.
        overrides: Settings to change, each like `summarize.beams=1`.
        out: JSON lines file to append every summary to.
        resume: Continue `out` where it ends; documents whose summaries it has are skipped.
        report: Called with progress, and with a note for every document that is not read to its end.
        check: Called between batches.

    Yields:
        Summaries, while later documents wait.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting is wrong, or `out` exists.
        DataError: If `out` is resumed and holds anything but summaries.
        ResourceError: If `out` cannot be written.
    """
    # 1. Load the model and open the file, so that their errors appear before the first document is read.
    loaded = load_for_generation(folder, overrides)
    if loaded.folder == SHIPPED and folder is None:
        report(Progress("summarize", note="model: the shipped model (no run in runs)"))
    file = SummaryFile(out, resume=resume) if out else None
    # 2. Skip the documents that are done, and generate the other summaries as they are asked for.
    rest = file.skip_done(documents) if file else documents
    summaries = generate_summaries(rest, loaded, report=report, check=check)
    # 3. Save each before it is given.
    return save_summaries(summaries, file) if file else summaries
