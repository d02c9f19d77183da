"""`sumpool convert`: print what was read of documents."""

from pathlib import Path
from typing import Annotated

import typer

from sumpool.cli.console import print_message, screen
from sumpool.cli.options import Documents, Field, Glob, KeepReferences, MaxBytes, Ocr, Password
from sumpool.documents.document import DEFAULT_OPTIONS, ReadOptions
from sumpool.errors import DataError
from sumpool.text.cleaning import escape, escape_line


def convert(
    files: Documents = None,
    output: Annotated[
        Path | None, typer.Option("--output", "--out", metavar="FILE", help="Write the Markdown to a file instead.")
    ] = None,
    glob: Glob = "*",
    field: Field = None,
    keep_references: KeepReferences = False,
    max_bytes: MaxBytes = DEFAULT_OPTIONS.max_bytes,
    password: Password = "",
    ocr: Ocr = "",
) -> None:
    """Convert documents to Markdown: what was read of them, and what a summary rests on.

    Headings, paragraphs, lists, tables and code; comments mark pages, notices and captions, and the documents where
    there are several. Exits with 3 if a document cannot be read; all others are there.
    """
    from sumpool.documents.formats.markdown import as_markdown
    from sumpool.documents.read import check_arguments, read_all
    from sumpool.io.atomic import disk_errors, replace_file

    names = files or ["-"]
    options = ReadOptions(field, None, keep_references, glob, max_bytes, password, ocr)
    check_arguments(names, options)
    with screen() as shown:
        texts, failed = list[str](), 0
        for number, document in enumerate(read_all(names, options, notice=print_message)):
            for note in document.notes:
                print_message(f"{document.id}: {note}")
            if document.error:
                failed += 1
                print_message(document.error)
                continue
            text = as_markdown(document)
            if document.id not in names or len(names) > 1:
                text = f"<!-- {escape_line(document.id).replace('--', '- -')} -->\n\n{text}"
            if output:
                texts.append(text)
            else:
                shown.result(f"\n{text}" if number else text)
    if output and texts:
        with disk_errors(output):
            replace_file(output, (escape("\n\n".join(texts)) + "\n").encode("utf-8", "surrogatepass"))
    if failed:
        raise DataError(f"{failed:,} documents cannot be read; see the reasons above")
