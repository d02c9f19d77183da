"""The corpus of marks: fetch its documents, fit the ranker to the marks, and measure a choice of sentences by them.

    python docs/scripts/marks/marked_documents.py fetch OUT [--mirror FOLDER]
    python docs/scripts/marks/marked_documents.py fit OUT --ranker FOLDER --references TEXTS.jsonl \
        [--published RFC-CORPUS]
    python docs/scripts/marks/marked_documents.py table OUT --ranker FOLDER [--part test] [--words 58]

`fetch` gets every document of documents.jsonl from its repository at GitHub, at the commit where it was marked, or from
copies of the repositories in `--mirror` (bare ones, `owner+name`), and compares its SHA-256. `fit` adds trees to the
ranker of a folder, such as a copy of sumpool/shipped, from the marks of the parts train and development, and tells such
documents from the training documents of its model, `texts.jsonl` of prepared data, as rows, as files, and with their
abstracts, as they are published. `table` prints, for some 60 words chosen from each document of a part, how often
the reader's first sentence is among them, the share of them that the reader marked as best or good, and those that do
not stand alone or have no content per 100.
"""

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, get_args

import numpy as np

from sumpool.documents.document import Document, document_title
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.atomic import temporary_path
from sumpool.io.replaceable import replace_listed_file
from sumpool.ranking.features import SentenceFeatures, sentence_features
from sumpool.ranking.fit import Fitting, fit_choice
from sumpool.ranking.marks import CHOICES, MARKED_KINDS, Marks, marked_example, split_document
from sumpool.ranking.ranker import FILE, DocumentClassifier, Ranker
from sumpool.ranking.selection import find_candidates
from sumpool.tasks.summarization.evaluate import FileFormat, read_as_file
from sumpool.text.language import word_count

HERE = Path(__file__).parent
MAX_BYTES = 64 << 20
LEARNT_DOCUMENTS = 100
"""Documents with references that the domain is told by."""
MIN_SCALE, RIDGE = 1e-6, 300.0
"""Standard deviation of a value at least, and penalty of the squared weights of `DocumentClassifier`."""
HASH_DIGITS = 8
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Marked:
    """A document with the marks of one or two readers."""

    row: dict[str, Any]
    document: Document
    language: str
    sentences: tuple[SourceSentence, ...]
    marks: Marks
    second: Marks | None


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("fetch", "fit", "table"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--ranker", type=Path)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--published", type=Path)
    parser.add_argument("--part", default="test")
    parser.add_argument("--words", type=int, default=58)
    options = parser.parse_args()
    if options.action == "fetch":
        fetch(options.out, options.mirror)
    elif options.action == "fit":
        fit(options.out, options.ranker, options.references, options.published)
    else:
        sys.stdout.write(table(options.out, options.ranker, options.part, options.words))


def rows(name: str) -> list[dict[str, Any]]:
    """Read a file of the corpus."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def fetch(out: Path, mirror: Path | None) -> None:
    """Write the documents into a folder; what cannot be had, or has changed, is named."""
    out.mkdir(parents=True, exist_ok=True)
    for row in rows("documents.jsonl"):
        path = out / f"{row['id']}{row['suffix']}"
        if path.exists():
            continue
        try:
            content = _from_mirror(row, mirror) if mirror else _from_github(row)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"{row['id']}: {row['repository']} {row['path']} must be there, got: {error}\n")
            continue
        content = gzip.decompress(content) if row["path"].endswith(".gz") else content
        if hashlib.sha256(content).hexdigest() != row["sha256"]:
            sys.stderr.write(f"{row['id']}: {row['repository']} {row['path']} must be the file that was marked\n")
            continue
        path.write_bytes(content)


def _from_github(row: dict[str, Any]) -> bytes:
    address = f"https://raw.githubusercontent.com/{row['repository']}/{row['commit']}/{urllib.parse.quote(row['path'])}"
    with urllib.request.urlopen(address, timeout=60) as answer:
        return bytes(answer.read(MAX_BYTES))


def _from_mirror(row: dict[str, Any], mirror: Path) -> bytes:
    folder = next((mirror / row["repository"].replace("/", "+")).rglob("HEAD")).parent
    command = ["git", "-C", str(folder), "show", f"{row['commit']}:{row['path']}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def read(out: Path, parts: Sequence[str]) -> Iterator[Marked]:
    """Read the marked documents of some parts that are in a folder."""
    first, second = ({row["document"]: row for row in rows(f"{name}.jsonl")} for name in READERS)
    for row in rows("documents.jsonl"):
        path = out / f"{row['id']}{row['suffix']}"
        if row["part"] not in parts or not path.exists():
            continue
        document = next(iter(read_documents(str(path))))
        sentences, language = split_document(document)
        marks = marks_of(first[row["id"]], sentences)
        other = second.get(row["id"])
        if marks.best:
            yield Marked(row, document, language, sentences, marks, marks_of(other, sentences) if other else None)


READERS = ("first", "second")


def marks_of(row: Mapping[str, Any], sentences: Sequence[SourceSentence]) -> Marks:
    """Return the marks of a row, by the indices of the same sentences in a document that may be split otherwise.

    Sentences are the same if their hashes are, in the order of the document; marks of others are dropped. Rows have
    hashes instead of sentences, so that they hold none of a document's text.
    """
    known = [row["hashes"][start : start + HASH_DIGITS] for start in range(0, len(row["hashes"]), HASH_DIGITS)]
    blocks = SequenceMatcher(None, known, sentence_hashes(sentences), autojunk=False).get_matching_blocks()
    numbers = {old + step: new + step for old, new, size in blocks for step in range(size)}
    best, good, dep, junk = (
        tuple(numbers[index] for index in row.get(name, ()) if index in numbers) for name in CHOICES
    )
    return Marks(best, good, dep, junk, row.get("judged", 0))


def sentence_hashes(sentences: Iterable[SourceSentence]) -> list[str]:
    """Return a hash of the words of each sentence; case, spaces and punctuation do not count."""
    words = (" ".join(WORD.findall(sentence.text.casefold())) for sentence in sentences)
    return [hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS] for text in words]


def fit(out: Path, folder: Path, references: Path, published: Path | None = None) -> None:
    """Add trees that have learnt from the marks to the ranker of a folder, and what tells its domain."""
    items = list(read(out, ("train", "development")))
    every = (marked_example(item.document, item.sentences, item.marks, item.language) for item in items)
    marked = [example for example in every if len(example.features)]
    ranker = fit_choice(Ranker.load(folder), marked, Fitting())
    as_rows = [_features(Document(item.row["id"], item.document.text)) for item in items]
    others = [*as_rows, *(example.features for example in marked)]
    ranker = fit_domain(ranker, list(_learnt(references, published)), others)
    temporary_path(folder / FILE).write_bytes(ranker.to_bytes())
    replace_listed_file(folder / FILE, {"marked_documents": len(marked)})


def fit_domain(ranker: Ranker, learnt: Sequence[SentenceFeatures], others: Sequence[SentenceFeatures]) -> Ranker:
    """Return the ranker with a classifier of documents as in its domain or out of it.

    Both groups weigh the same, and ridge regression keeps the weights of correlated values small.

    Args:
        ranker: The ranker.
        learnt: Features of documents such as those with reference summaries.
        others: Features of other documents.
    """
    documents = [item for item in (*learnt, *others) if len(item)]
    is_learnt = np.arange(len(documents)) < sum(len(item) > 0 for item in learnt)
    weights = np.where(is_learnt, 0.5 / is_learnt.mean(), 0.5 / (~is_learnt).mean())
    values = np.array([ranker.inputs(item).document_values for item in documents])
    mean, scale = values.mean(axis=0), values.std(axis=0) + MIN_SCALE
    domain = DocumentClassifier(mean, scale, np.zeros(values.shape[1]), 0.0)
    inputs = np.column_stack([domain.standardised(values), np.ones(len(values))])
    products = inputs.T @ (weights[:, None] * inputs) + RIDGE * np.eye(inputs.shape[1])
    solved = np.linalg.solve(products, inputs.T @ (weights * np.where(is_learnt, 1.0, -1.0)))
    return replace(ranker, domain=replace(domain, weights=solved[:-1], bias=float(solved[-1])))


def _learnt(path: Path, published: Path | None) -> Iterator[SentenceFeatures]:
    """Yield the features of documents with references as rows and as files, and of the published ones if known."""
    with path.open(encoding="utf-8") as file:
        lines = file.readlines()
    for number in range(LEARNT_DOCUMENTS):
        row = json.loads(lines[number * len(lines) // LEARNT_DOCUMENTS])
        documents = [read_as_file(row["id"], row["document"], kind) for kind in get_args(FileFormat)]
        documents += read_documents(str(published / f"{row['id'].lower()}.txt.gz")) if published else []
        for document in (Document(row["id"], row["document"]), *documents):
            yield _features(document)


def _features(document: Document) -> SentenceFeatures:
    sentences, language = split_document(document)
    return sentence_features(sentences, find_candidates(sentences), document_title(document), language)


def table(out: Path, folder: Path, part: str, words: int) -> str:
    """Return the table of a part: all languages, English, and the others."""
    documents = list(read(out, (part,)))
    fast = Pipeline.open(RunFiles.open(folder, ["summarize.fast=true", f"summarize.length={words}w"]))

    def chosen(item: Marked) -> Sequence[int]:
        (summary,) = fast.summarize([item.document])
        return summary.indices

    def lead(item: Marked) -> Sequence[int]:
        return _up_to(words, range(len(item.sentences)), item.sentences)

    def second(item: Marked) -> Sequence[int]:
        return _up_to(words, item.second.best, item.sentences) if item.second else ()

    lines = [
        "| system | documents | first sentence | precision | dep per 100 | junk per 100 | words |",
        "|---" * 7 + "|",
    ]
    choices: dict[str, Callable[[Marked], Sequence[int]]] = {
        "LEAD": lead,
        "a second reader": second,
        "summarize --fast": chosen,
    }
    for name, choose in choices.items():
        selections = [(item, choose(item)) for item in documents]
        for language, wanted in (("", None), (", English", True), (", other languages", False)):
            some = [pair for pair in selections if pair[1] and wanted in (None, pair[0].language == "en")]
            lines.append(_row(f"{name}{language}", some))
    return "\n".join(lines) + "\n"


def _up_to(words: int, indices: Sequence[int], sentences: Sequence[SourceSentence]) -> list[int]:
    chosen: list[int] = []
    size = 0
    for index in indices:
        if sentences[index].kind not in MARKED_KINDS:
            continue
        size += word_count(sentences[index].text)
        if chosen and size > words:
            break
        chosen.append(index)
    return chosen


def _row(name: str, selections: Sequence[tuple[Marked, Sequence[int]]]) -> str:
    count = max(len(selections), 1)
    total = max(sum(len(chosen) for _, chosen in selections), 1)
    first = sum(item.marks.best[0] in chosen for item, chosen in selections) / count
    wanted = [set(item.marks.best) | set(item.marks.good) for item, _ in selections]
    precision = (
        sum(len(good.intersection(chosen)) / len(chosen) for good, (_, chosen) in zip(wanted, selections, strict=True))
        / count
    )
    dep, junk = (
        100 * sum(index in getattr(item.marks, field) for item, chosen in selections for index in chosen) / total
        for field in ("dep", "junk")
    )
    words = sum(word_count(item.sentences[index].text) for item, chosen in selections for index in chosen) / count
    return f"| {name} | {len(selections)} | {first:.2f} | {precision:.2f} | {dep:.0f} | {junk:.0f} | {words:.0f} |"


if __name__ == "__main__":
    main()
