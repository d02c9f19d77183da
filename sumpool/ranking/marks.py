"""Marks of readers: which sentences a summary of a document should consist of, and which it should not.

A sheet shows the sentences of a document with their numbers, below the fields that a reader fills in (docs/ranking.md).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.document import Document, document_title
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.errors import DataError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.file_names import FileNames
from sumpool.ranking.features import SentenceFeatures, sentence_features
from sumpool.ranking.selection import find_candidates
from sumpool.text.language import ENGLISH, detect_language
from sumpool.text.sentences import SentenceSplitter

CHOICES: Final = ("best", "good", "dep", "junk")
"""Fields of sentences: the summary in order of preference, others fit for it, those that do not stand alone, and those
without content."""
MARKED_KINDS: Final = ("paragraph", "list_item", "caption", "notice")
"""Kinds of blocks whose sentences have numbers in a sheet."""
HEAD, TAIL = 200, 30
"""Sentences of a long document at its beginning and its end that a sheet shows."""
_SHOWN_WORDS = 60
_RANGE_CHARACTERS = 19

FURTHER, GOOD = 0.85, 0.55
"""Preference of the further sentences of a reader's summary, and of other good ones."""
_SUFFIX = ".txt"


@dataclass(frozen=True)
class Marks:
    """What a reader says about a document.

    Attributes:
        best: Indices of the sentences of a summary of some 60 words, the most important first; one to four.
        good: Indices of other sentences that such a summary could have.
        dep: Indices of sentences that cannot be understood without the text around them, of those that were judged.
        junk: Indices of sentences without content, such as navigation, captions and fragments.
        judged: Number of sentences, from the first that is shown, of which `dep` was judged; sentences in `best` and
            `good` count as judged wherever they are.
    """

    best: tuple[int, ...]
    good: tuple[int, ...] = ()
    dep: tuple[int, ...] = ()
    junk: tuple[int, ...] = ()
    judged: int = 30


@dataclass(frozen=True)
class MarkedExample:
    """A document with marks of a reader.

    Attributes:
        features: Features of its sentences of prose.
        preference: 1 for the reader's first sentence, less for the others of the summary and for other good ones, else
            0, (candidates,).
        dependence: Whether each does not stand alone, (candidates,); known of those in `judged`.
        junk: Whether each has no content, (candidates,).
        shown: Whether the reader has seen each, (candidates,).
        judged: Whether the reader has said of each whether it stands alone, (candidates,).
    """

    features: SentenceFeatures
    preference: NDArray[np.float64]
    dependence: NDArray[np.bool_]
    junk: NDArray[np.bool_]
    shown: NDArray[np.bool_]
    judged: NDArray[np.bool_]


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
        if path.exists() and sheet_fields(path.read_text(encoding="utf-8", errors="replace")).get("document") != str(
            file
        ):
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


def sheet_fields(text: str) -> dict[str, str]:
    """Return the fields of a sheet, which are the lines before the first empty one."""
    lines = text.strip("\n").partition("\n\n")[0].splitlines()
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def split_document(document: Document) -> tuple[tuple[SourceSentence, ...], str]:
    """Return the sentences of a document as a sheet numbers them, and the code of its language."""
    language = detect_language(document.text)
    return source_sentences(document, SentenceSplitter(language or ENGLISH)), language


def shown_indices(sentences: Sequence[SourceSentence]) -> list[int]:
    """Return the indices of the sentences that a sheet shows with numbers: of long documents beginning and end."""
    marked = [index for index, sentence in enumerate(sentences) if sentence.kind in MARKED_KINDS]
    return [*marked[:HEAD], *marked[HEAD:][-TAIL:]]


def sheet(document: Document, sentences: Sequence[SourceSentence], path: Path) -> str:
    """Return the sheet of a document: the fields to fill in, and its sentences with their numbers.

    Args:
        document: The document.
        sentences: Its sentences, see `source_sentences`.
        path: Its file.
    """
    fields = (f"document: {path}", *(f"{name}:" for name in ("kind", "says", *CHOICES)))
    title = f"title: {document.title}\n\n" if document.title else ""
    return "\n".join([*fields, "", f"{title}{numbered_text(sentences)}"])


def numbered_text(sentences: Sequence[SourceSentence]) -> str:
    """Return the text of a document with a number before each sentence, and its headings without."""
    numbers = shown_indices(sentences)
    shown, last = set(numbers), numbers[-1] if numbers else -1
    lines: list[str] = []
    block, is_omitted = -1, False
    for index, sentence in enumerate(sentences[: last + 1]):
        if index not in shown:
            if sentence.kind in MARKED_KINDS:
                lines += [] if is_omitted else ["", "[...]"]
                is_omitted = True
                continue
            if sentence.kind != "heading" or is_omitted:
                continue
        is_omitted = False
        lines += [""] if sentence.block != block and (sentence.kind != "list_item" or not lines) else []
        block = sentence.block
        words = sentence.text.split()
        text = " ".join(words[:_SHOWN_WORDS]) + (" ..." if len(words) > _SHOWN_WORDS else "")
        mark = {"heading": "## ", "list_item": "- ", "caption": "(caption) ", "notice": "(notice) "}
        number = "" if sentence.kind == "heading" else f"{index}: "
        lines.append(f"{number}{mark.get(sentence.kind, '')}{text}")
    return "\n".join(lines).strip("\n") + "\n"


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
        fields = sheet_fields(text)
        if not any(fields.get(name) for name in CHOICES):
            continue
        document = next(iter(read_documents(fields.get("document", ""))))
        if document.error:
            raise DataError(f"{path} must be about a document that can be read, got: {document.error}")
        sentences, language = split_document(document)
        try:
            marks = parse_sheet(text, sentences)
        except ValueError as error:
            raise DataError(f"{path} {error}") from error
        yield marked_example(document, sentences, marks, language)


def parse_sheet(text: str, sentences: Sequence[SourceSentence]) -> Marks:
    """Return the marks in the fields of a sheet that was filled in.

    Args:
        text: The sheet, or its fields alone: lines like `best: 4 17` or `junk: 1-3 40`; further lines after an empty
            one are not read.
        sentences: Sentences of its document.

    Raises:
        ValueError: If a field is unknown, has something else than numbers, or no sentence is `best`.
    """
    fields = sheet_fields(text)
    unknown = fields.keys() - {"document", "kind", "says", *CHOICES}
    if unknown:
        raise ValueError(f"must have fields such as `best: 4 17`, got {min(unknown)[:60]!r}")
    shown = frozenset(shown_indices(sentences))
    best, good, dep, junk = (_numbers(name, fields.get(name, ""), len(sentences), shown) for name in CHOICES)
    if not best:
        raise ValueError("must name at least one sentence after best:, got none")
    return Marks(best, good, dep, junk)


def _numbers(name: str, value: str, sentences: int, shown: frozenset[int]) -> tuple[int, ...]:
    """Return the numbers of a field; those of sentences that have none in the sheet, such as headings, are dropped."""
    found: dict[int, None] = {}
    for word in value.replace(",", " ").split():
        start, dash, end = word.partition("-")
        end = end if dash else start
        is_range = start.isdecimal() and end.isdecimal() and len(word) <= _RANGE_CHARACTERS
        first, last = (int(start), int(end)) if is_range else (0, -1)
        if not first <= last < sentences:
            rule = f"numbers of sentences, at most {sentences - 1}, such as 4 or 10-12"
            raise ValueError(f"{name}: must be {rule}, got {word[:40]!r}")
        found |= dict.fromkeys(index for index in range(first, last + 1) if index in shown)
    return tuple(found)


def marked_example(
    document: Document, sentences: Sequence[SourceSentence], marks: Marks, language: str
) -> MarkedExample:
    """Return a document with marks as an example.

    Args:
        document: The document.
        sentences: Its sentences, see `source_sentences`.
        marks: The marks.
        language: Code of its language.
    """
    indices = np.array(find_candidates(sentences), np.int64)
    values = dict.fromkeys(marks.good, GOOD) | dict.fromkeys(marks.best, FURTHER) | dict.fromkeys(marks.best[:1], 1.0)
    shown = shown_indices(sentences)
    junk = np.isin(indices, marks.junk)
    return MarkedExample(
        sentence_features(sentences, indices.tolist(), document_title(document), language),
        np.array([values.get(index, 0.0) for index in indices.tolist()], np.float64),
        np.isin(indices, marks.dep) & ~np.isin(indices, marks.best),
        junk,
        np.isin(indices, shown),
        np.isin(indices, [*shown[: marks.judged], *marks.best, *marks.good]) & ~junk,
    )
