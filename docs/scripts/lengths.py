"""Lengths of summaries: how often a length asked for is obeyed, by mode.

    python docs/scripts/lengths.py RFC_FOLDER [FILES_FOLDER] [--rfcs 100] [--files 30] [--lengths 60w 150w 5s 10%]

The first set are RFCs of the validation split, the second files with structure (PDF, HTML, DOCX, ODT, EPUB, Markdown,
reStructuredText) below a folder of unpacked packages; both are drawn by a fixed seed among documents of at least
`MIN_WORDS` words, `MIN_SENTENCES` sentences and at most `MAX_TOKENS` tokens. Prints the share of summaries within 10 %
of the words asked for, or with exactly the sentences; those that end with a sentence end; mean words; how many the
model wrote; and how many are sentences of the document instead, with a note that says why.
"""

import argparse
import hashlib
import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sumpool.core.decoding.config import parse_length
from sumpool.data.sources._base import Example
from sumpool.data.sources.rfc import RfcSourceConfig
from sumpool.documents.document import Document
from sumpool.documents.read import read_documents
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from sumpool.text.language import ENGLISH, detect_language, word_count
from sumpool.text.tokenizer import encode_document

MAX_TOKENS, MIN_WORDS, MIN_SENTENCES, MAX_BYTES = 4000, 400, 20, 300_000
SUFFIXES = (".pdf", ".html", ".htm", ".docx", ".odt", ".epub", ".md", ".rst")
MODES = ("extractive", "abstractive")
SENTENCE_END = re.compile("[.!?\u2026\u3002][\"')\\]\u2019\u201d]*$")
TOLERANCE = 0.1
SEED = 20261122


def main() -> None:
    """Summarise both sets in all lengths and modes and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rfcs_folder", type=Path, metavar="RFC_FOLDER")
    parser.add_argument("files_folder", type=Path, metavar="FILES_FOLDER", nargs="?")
    parser.add_argument("--rfcs", type=int, default=100)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--lengths", nargs="+", default=["60w", "150w", "5s", "10%"])
    parser.add_argument("--modes", nargs="+", default=MODES)
    parser.add_argument("--model", type=Path, default=SHIPPED)
    parser.add_argument("--verbose", action="store_true", help="print the id of each summary of another length")
    arguments = parser.parse_args()
    loaded = load_for_generation(arguments.model, [])
    sets = {"RFCs": draw_rfcs(arguments.rfcs_folder, loaded, arguments.rfcs)}
    if arguments.files_folder:
        sets["files"] = draw_files(arguments.files_folder, loaded, arguments.files)
    print("| set | length | mode | within 10 % | sentence end | words | written | extracted, with a note | s |")  # noqa: T201
    print("|---|---|---|---|---|---|---|---|---|")  # noqa: T201
    for length in arguments.lengths:
        for mode in arguments.modes:
            model = load_for_generation(
                arguments.model, [f"summarize.length={length}", f"summarize.mode={mode}", "summarize.batch_tokens=8192"]
            )
            for name, documents in sets.items():
                print(row(name, length, mode, documents, model, is_verbose=arguments.verbose), flush=True)  # noqa: T201


def draw_rfcs(folder: Path, loaded: LoadedModel, count: int) -> list[Document]:
    """Draw RFCs of the validation split."""
    rows = [row for row in RfcSourceConfig(path=folder).rows() if isinstance(row, Example)]
    rows = [row for row in rows if row.split == "validation"]
    random.Random(SEED).shuffle(rows)
    return take((Document(example.id, example.document) for example in rows), loaded, count)


def draw_files(folder: Path, loaded: LoadedModel, count: int) -> list[Document]:
    """Draw English files with structure, one of a package until all packages have one."""
    paths: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("**/*")):
        if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size <= MAX_BYTES:
            parts = path.relative_to(folder).parts
            paths.setdefault("/".join(parts[: 2 if parts[0] in ("pypi", "npm") else 1]), []).append(path)
    for members in paths.values():
        members.sort(key=lambda path: hashlib.sha256(f"{SEED} {path.relative_to(folder)}".encode()).digest())
    packages = sorted(paths)
    random.Random(SEED).shuffle(packages)
    order = (
        paths[package][turn] for turn in range(20) for package in packages if turn < len(paths[package])
    )  # one of each package in turn
    return take((document for path in order for document in read_documents(str(path))), loaded, count)


def take(documents: Iterator[Document], loaded: LoadedModel, count: int) -> list[Document]:
    """Take the first documents of a suitable size."""
    taken: list[Document] = []
    for document in documents:
        if document.error or word_count(document.text) < MIN_WORDS or detect_language(document.text) != ENGLISH:
            continue
        if len(loaded.splitter.split(document.text)) < MIN_SENTENCES:
            continue
        if len(encode_document(document.text, loaded.tokenizer, loaded.splitter).ids) <= MAX_TOKENS:
            taken.append(document)
        if len(taken) == count:
            break
    return taken


def row(
    name: str, length: str, mode: str, documents: Sequence[Document], loaded: LoadedModel, *, is_verbose: bool
) -> str:
    """Summarise documents and return a row of the table."""
    start = time.perf_counter()
    summaries = list(Pipeline.of(loaded).summarize(documents))
    seconds = (time.perf_counter() - start) / len(documents)
    faults = [
        f"{summary.id}: {size(summary, length, loaded)} of {asked(document, length):g} ({summary.mode})"
        for document, summary in zip(documents, summaries, strict=True)
        if abs(size(summary, length, loaded) - asked(document, length)) > tolerance(document, length)
    ]
    if is_verbose and faults:
        print("\n".join(faults), flush=True)  # noqa: T201
    ends = sum(SENTENCE_END.search(summary.summary) is not None for summary in summaries)
    words = sum(word_count(summary.summary) for summary in summaries) / len(summaries)
    written = sum(summary.mode == "abstractive" for summary in summaries)
    noted = sum(bool(summary.extraction.cause) for summary in summaries)
    total = len(documents)
    cells = (name, length, mode, f"{total - len(faults)} of {total}", f"{ends} of {total}", f"{words:.0f}")
    return f"| {' | '.join(cells)} | {written} | {noted} | {seconds:.2f} |"


def asked(document: Document, length: str) -> float:
    """Return the words or sentences that a summary of a document is to have."""
    amount, unit = parse_length(length)
    return amount * word_count(document.text) if unit == "share" else amount


def tolerance(document: Document, length: str) -> float:
    """Return the tolerated difference: none for sentences; a share is rounded to words first."""
    return 0.0 if length.endswith("s") else TOLERANCE * asked(document, length) + 1e-6


def size(summary: Summary, length: str, loaded: LoadedModel) -> int:
    """Return the sentences or words of a summary."""
    if not length.endswith("s"):
        return word_count(summary.summary)
    return len(summary.sentences) if summary.extraction.sentences else len(loaded.splitter.split(summary.summary))


if __name__ == "__main__":
    main()
