"""`sumpool classify`: label files, folders, rows or standard input with a trained classifier."""

from pathlib import Path
from typing import Annotated

import typer

from sumpool.cli.console import working
from sumpool.cli.options import Changes, Documents, Field, Glob, KeepReferences, MaxBytes
from sumpool.documents.document import DEFAULT_OPTIONS, ReadOptions
from sumpool.errors import DataError
from sumpool.progress import Progress
from sumpool.text.cleaning import escape_line


def classify(
    files: Documents = None,
    model: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Run folder of the classifier; default: the newest one.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per document.")] = False,
    glob: Glob = "*",
    field: Field = None,
    keep_references: KeepReferences = False,
    max_bytes: MaxBytes = DEFAULT_OPTIONS.max_bytes,
    changes: Changes = None,
) -> None:
    """Label documents with a trained classifier.

    Prints document, label and probability, separated by tabs. A classifier of pairs takes JSON lines with both
    documents. Exits with 3 if a document has no label; all others have theirs.
    """
    from sumpool.inference.run_files import newest_run, trained_field
    from sumpool.tasks.classification.classify import classify as run_classify

    run = model or newest_run("classification")
    options = ReadOptions(field, trained_field(run), keep_references, glob, max_bytes)
    count = failed = 0
    with working() as output:
        for prediction in run_classify(
            files or ["-"],
            run,
            options=options,
            overrides=changes or (),
            report=output.report,
            check=output.check,
        ):
            count += 1
            if prediction.reason:
                failed += 1
                output.report(Progress("classify", note=f"{prediction.id}: no label: {prediction.reason}"))
            elif prediction.tokens_read < prediction.tokens_total:
                note = f"{prediction.id}: read {prediction.tokens_read:,} of {prediction.tokens_total:,} tokens"
                output.report(Progress("classify", note=note))
            if json:
                output.result(escape_line(prediction.as_json()))
            elif prediction.label:
                share = prediction.probabilities[prediction.label]
                output.result(f"{escape_line(prediction.id)}\t{escape_line(prediction.label)}\t{share:.4f}")
    if not count:
        raise DataError(f"{', '.join(files or ['stdin'])} must hold documents, got none")
    if failed:
        raise DataError(f"{failed:,} of {count:,} documents have no label; see the reasons above")
