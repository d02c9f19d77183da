"""Sheets of marks as files: written for a reader to fill in, and read again for training."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sumpool.documents.document import Document
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.errors import DataError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.file_names import FileNames
from sumpool.ranking.examples import MarkedExample, marked_example
from sumpool.ranking.marks import is_filled, marked_document, parse_sheet, sheet, shown_indices
from sumpool.text.language import ENGLISH, detect_language
from sumpool.text.sentences import SentenceSplitter

_SUFFIX = ".txt"


def write_sheets(documents: Iterable[Document], folder: Path, notice: Callable[[str], None]) -> int:
    """Write a sheet for each document that has none yet in a folder, and return how many were written.

    Args:
        documents: Documents, each a file of its own, in which training finds it again.
        folder: The folder, which is made if missing.
        notice: Called with a sentence about each document that gets no sheet.

    Raises:
        ResourceError: If the folder cannot be written.
    """
    names = FileNames([], _SUFFIX)
    written = 0
    for document in documents:
        file = Path(document.id).resolve()
        path = folder / names.assign(file.name)
        if path.exists() and marked_document(path.read_text(encoding="utf-8", errors="replace")) != str(file):
            path = folder / names.assign(str(file))  # the sheet is of another file with the same name
        reason = document.error
        if not reason and not Path(document.id).is_file():
            reason = f"{document.id} must be a file of its own to be marked, got a row or a stream"
        sentences, _ = ((), "") if reason else split_document(document)
        if not reason and not shown_indices(sentences):
            reason = f"{document.id} must hold sentences to be marked, got none"
        if reason or path.exists():
            notice(reason or f"{path} is there already and stays as it is")
            continue
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, sheet(document, sentences, file).encode())
        written += 1
    return written


def marked_examples(folder: Path) -> Iterator[MarkedExample]:
    """Read the sheets of a folder that a reader has filled in, and their documents, as examples.

    Raises:
        DataError: If the folder is missing, a sheet has something else than numbers of sentences, or its document is
            gone or cannot be read.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} must be a folder of sheets, got none; write them with: sumpool mark FILE...")
    for path in sorted(folder.rglob(f"*{_SUFFIX}")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if not is_filled(text):
            continue
        document = next(iter(read_documents(marked_document(text))))
        if document.error:
            raise DataError(f"{path} must be about a document that can be read, got: {document.error}")
        sentences, language = split_document(document)
        try:
            marks = parse_sheet(text, sentences)
        except ValueError as error:
            raise DataError(f"{path} {error}") from error
        yield marked_example(document, sentences, marks, language)


def split_document(document: Document) -> tuple[tuple[SourceSentence, ...], str]:
    """Return the sentences of a document as a sheet numbers them, and the code of its language."""
    language = detect_language(document.text)
    return source_sentences(document, SentenceSplitter(language or ENGLISH)), language
