"""Long documents: reading their beginning or their best-ranked sentences.

    python docs/scripts/long_documents.py SOURCE [--documents 90] [--model RUN] [--set A.B=C]

SOURCE is the folder of the RFC series, of which the validation split counts, or a file of rows with "document" and
"summary". The documents have 2 to 40 times the tokens that the model reads and are drawn by a fixed seed, in equal
numbers from three groups of lengths where there are so many. In the second set the introduction, the first paragraphs
of at least `INTRODUCTION_WORDS` words, stands at the end. Prints ROUGE of LEAD, truncation and selection on both sets,
by group, and the differences to truncation with their 95 % intervals.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sumpool.data.sources._base import Example
from sumpool.data.sources.rfc import RfcSourceConfig
from sumpool.documents.document import Document
from sumpool.evaluation.rouge import Rouge
from sumpool.evaluation.statistics import compare
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.pipeline import Pipeline
from sumpool.text.cleaning import first_words
from sumpool.text.tokenizer import encode_document

WAYS = ("truncate", "select")
GROUPS = ((2, 4), (4, 10), (10, 40))
"""Lengths in multiples of what the model reads."""
INTRODUCTION_WORDS = 950
LEAD_WORDS = 60
MEASURES = ("rouge1", "rouge2", "rougeLsum")
SEED = 20261122


def main() -> None:
    """Summarise both sets in both ways and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--documents", type=int, default=90)
    parser.add_argument("--model", type=Path, default=SHIPPED)
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    models = {
        name: load_for_generation(arguments.model, [*arguments.set, f"summarize.on_overflow={name}"]) for name in WAYS
    }
    first, *_ = models.values()
    chosen = draw(arguments.source, first, arguments.documents)
    splitter = first.splitter
    rouge = Rouge(stemmer=True, split=splitter.split, splitter="the model's")
    for title, is_late in (("as they are", False), ("introduction at the end", True)):
        examples = [late_lead(example) if is_late else example for example, _ in chosen]
        scores = {"LEAD": score(rouge, examples, [first_words(example.document, LEAD_WORDS) for example in examples])}
        for name, loaded in models.items():
            start = time.perf_counter()
            documents = (Document(example.id, example.document) for example in examples)
            texts = [summary.summary for summary in Pipeline.of(loaded).summarize(documents)]
            scores[name] = score(rouge, examples, texts)
            print(f"{name}: {(time.perf_counter() - start) / len(examples):.1f} s/document", flush=True)  # noqa: T201
        print_table(title, scores, [group for _, group in chosen])


def read(source: Path) -> list[Example]:
    """Read the validation split of the RFC series, or all rows of a file."""
    if source.is_dir():
        rows = (row for row in RfcSourceConfig(path=source).rows() if isinstance(row, Example))
        return [row for row in rows if row.split == "validation"]
    trees = map(json.loads, source.read_text("utf-8").splitlines())
    return [Example(tree["id"], tree["document"], tree["summary"], "validation") for tree in trees]


def draw(source: Path, loaded: LoadedModel, count: int) -> list[tuple[Example, int]]:
    """Draw documents, each with the index of its group."""
    rows = read(source)
    random.Random(SEED).shuffle(rows)
    chosen: list[tuple[Example, int]] = []
    for row in rows:
        length = len(encode_document(row.document, loaded.tokenizer, loaded.splitter).ids)
        ratio = length / loaded.recipe.model.source_length
        group = next((index for index, (low, high) in enumerate(GROUPS) if low < ratio <= high), None)
        if group is not None and sum(other == group for _, other in chosen) < count // len(GROUPS):
            chosen.append((row, group))
    return chosen


def late_lead(example: Example) -> Example:
    """Move the introduction of a document to its end."""
    paragraphs = example.document.split("\n\n")
    words = np.cumsum([len(paragraph.split()) for paragraph in paragraphs])
    count = min(int(np.searchsorted(words, INTRODUCTION_WORDS)) + 1, len(paragraphs) - 1)
    text = "\n\n".join(paragraphs[count:] + paragraphs[:count])
    return Example(example.id, text, example.summary, example.split)


def score(rouge: Rouge, examples: Sequence[Example], texts: Sequence[str]) -> np.ndarray:
    """Score summaries, (documents, measures), times 100."""
    pairs = zip(texts, examples, strict=True)
    scores = [rouge.score(text, example.summary) for text, example in pairs]
    return np.array([[100 * entry[name].f1 for name in MEASURES] for entry in scores])


def print_table(title: str, scores: dict[str, np.ndarray], groups: Sequence[int]) -> None:
    """Print means by group, and the differences to truncation."""
    print(f"\n{title}")  # noqa: T201
    for label, members in _slices(np.array(groups)):
        means = "   ".join(
            f"{name} {' / '.join(f'{mean:.1f}' for mean in values[members].mean(axis=0))}"
            for name, values in scores.items()
        )
        print(f"  {label:14} {members.sum():3}   {means}")  # noqa: T201
        differences = (
            f"{test.difference.mean:+.1f} [{test.difference.low:.1f}, {test.difference.high:.1f}]"
            for test in compare(scores["select"][members], scores["truncate"][members], 1000, 1)
        )
        print(f"  {'':18}   select - truncate {' / '.join(differences)}", flush=True)  # noqa: T201


def _slices(groups: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "all", np.ones(len(groups), dtype=bool)
    for index, (low, high) in enumerate(GROUPS):
        if (groups == index).any():
            yield f"{low} to {high} times", groups == index


if __name__ == "__main__":
    main()
