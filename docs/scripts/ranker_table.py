"""Sentence ranker by kind of document, with and without that kind in training, beside baselines at equal words.

    python docs/scripts/ranker_table.py --rfc FOLDER --outside FOLDER [--half test] [--save FOLDER]
        [--published FOLDER] [--summaries NAME=FILE.jsonl] [--documents 970] [--leave-out] [--ranker FOLDER]

FOLDER of RFCs has train.jsonl, validation.jsonl and test.jsonl with "document" and "summary"; that of other kinds what
`recipes/outside/KIND.py` writes. Every second RFC of training is there once more as it is published, in the folder
`--published`, with its summary. Trains on RFCs and on the development halves of all kinds, with `--leave-out` for each
kind once more without it, and prints ROUGE-1, -2 and -Lsum on the other half, with p-values of the paired tests against
the best baseline. All systems have the same words: the last sentence selected is cut; and they choose from all
sentences of prose. A ranker that has also learnt from marks of readers is measured once more as `summarize --fast
--length` chooses. `--save` writes the ranker that is trained on all kinds, `--ranker` takes one from a folder.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sumpool.core.decoding.config import LengthTarget
from sumpool.documents.document import Document
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.evaluation.rouge import Rouge, RougeTokenizer
from sumpool.evaluation.scorer import lexrank, random_ranks, textrank
from sumpool.evaluation.statistics import compare
from sumpool.io.atomic import temporary_path
from sumpool.io.replaceable import replace_listed_file
from sumpool.ranking.boosting import Boosting
from sumpool.ranking.features import sentence_features
from sumpool.ranking.fit import Fitting, RankingExample, fit_ranker, labelled_example
from sumpool.ranking.ranker import FILE, Ranker
from sumpool.ranking.selection import find_candidates, select
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.text.language import ENGLISH
from sumpool.text.sentences import SentenceSplitter

SPLITTER = SentenceSplitter()
TOKENIZER = RougeTokenizer(stemmer=True)
ROUGE = Rouge()
WORDS: Mapping[str, tuple[int, ...]] = {
    "rfc": (60,),
    "vignettes": (130, 200),
    "proposals": (130,),
    "papers": (130, 200),
}
OTHER_WORDS = (75,)
MEASURES = ("rouge1", "rouge2", "rougeLsum")
BASELINES = ("LEAD", "LexRank", "TextRank", "random")
RESAMPLES = 1000
LONGER = 1.2
"""Words asked for by those of the table, so that every summary has enough to be cut: a target is met within a tenth."""
VALUES = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """Document of a test half."""

    id: str
    document: Document
    reference: str
    sentences: tuple[SourceSentence, ...]

    def prose(self) -> list[str]:
        """Return all sentences of prose."""
        return [self.sentences[index].text for index in find_candidates(self.sentences)]


def main() -> None:
    """Train, evaluate and print the table."""
    arguments = parse_arguments()
    fitting = Fitting(boosting=Boosting(trees=600, leaves=31, min_rows=80))
    files = {"rfc": arguments.rfc / "train.jsonl"}
    files |= {path.parent.name: path for path in sorted(arguments.outside.glob("*/development.jsonl"))}
    is_trained = arguments.leave_out or not arguments.ranker
    training = {
        kind: examples(path, kind, arguments.documents, arguments.published) if is_trained else []
        for kind, path in files.items()
    }
    everything = (
        Ranker.load(arguments.ranker) if arguments.ranker else fit_ranker(list(chain(*training.values())), fitting)
    )
    if arguments.save:
        save(everything, arguments.save)
    others = dict(entry.split("=", 1) for entry in arguments.summaries)
    rows = {name: read_summaries(Path(path)) for name, path in others.items()}
    for kind in training:
        half = arguments.rfc / f"{arguments.half.replace('development', 'validation')}.jsonl"
        half = half if kind == "rfc" else arguments.outside / kind / f"{arguments.half}.jsonl"
        without = [example for other, items in training.items() if other != kind for example in items]
        rankers = {"ranker": everything}
        if arguments.leave_out:
            rankers[f"ranker without {kind}"] = fit_ranker(without, fitting)
        report(kind, list(cases(half, arguments.test_documents)), rankers, rows)


def save(ranker: Ranker, folder: Path) -> None:
    """Write a ranker into a folder, with its digest in the manifest of a run."""
    if not (folder / "manifest.json").is_file():
        (folder / FILE).write_bytes(ranker.to_bytes())
        return
    temporary_path(folder / FILE).write_bytes(ranker.to_bytes())
    replace_listed_file(folder / FILE, {})


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rfc", type=Path, required=True)
    parser.add_argument("--outside", type=Path, required=True)
    parser.add_argument("--half", choices=("development", "test"), default="test")
    parser.add_argument("--documents", type=int, default=970)
    parser.add_argument("--published", type=Path)
    parser.add_argument("--test-documents", type=int, default=250)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--ranker", type=Path)
    parser.add_argument("--summaries", action="append", default=[])
    return parser.parse_args()


def read_rows(path: Path, count: int) -> list[dict[str, str]]:
    """Return `count` rows of a file at equal distances; all if there are fewer."""
    lines = path.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines[:: -(-len(lines) // count)]]


def examples(path: Path, kind: str, count: int, published: Path | None) -> list[RankingExample]:
    """Read documents for training, every second RFC also as it is published, with its summary."""
    items = []
    for number, row in enumerate(read_rows(path, count), 1):
        documents = [Document(row["id"], row["document"], title=row.get("title", ""))]
        if number % 2 == 0 and kind == "rfc" and published:
            documents += read_documents(str(published / f"{row['id'].lower()}.txt.gz"))
        items += [labelled_example(item, row["summary"], "en", TOKENIZER.tokenize, kind) for item in documents]
    return items


def cases(path: Path, count: int) -> Iterator[Case]:
    """Yield the documents of a test half that have a sentence of prose."""
    for row in read_rows(path, count):
        document = Document(row["id"], row["document"], title=row.get("title", ""))
        case = Case(row["id"], document, row["summary"], source_sentences(document, SPLITTER))
        if case.prose():
            yield case


def read_summaries(path: Path) -> dict[tuple[str, str, int], str]:
    """Read the summaries of another system by kind, id and words."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {(row["kind"], row["id"], row["words"]): row["summary"] for row in rows}


def report(
    kind: str,
    items: Sequence[Case],
    rankers: Mapping[str, Ranker],
    others: Mapping[str, Mapping[tuple[str, str, int], str]],
) -> None:
    """Print the table of a kind."""
    for words in WORDS.get(kind, OTHER_WORDS):
        print(f"\n{kind}, {len(items)} documents, {words} words")  # noqa: T201
        systems: dict[str, list[str]] = {}
        for name, ranker in rankers.items():
            systems[name] = [by_ranker(item, ranker, words) for item in items]
            if ranker.choice:
                selector = SentenceSelector(ranker)
                systems["summarize --fast"] = [by_selector(item, selector, words) for item in items]
        for name, summaries in others.items():
            if all((kind, item.id, words) in summaries for item in items):
                systems[name] = [summaries[kind, item.id, words] for item in items]
        for name in BASELINES:
            systems[name] = [by_ranks(item, name, words) for item in items]
        scores = {name: score(texts, items) for name, texts in systems.items()}
        means = np.stack([scores[name].mean(axis=0) for name in BASELINES])  # (baselines, measures)
        rivals = [BASELINES[index] for index in means.argmax(axis=0)]
        best = np.column_stack([scores[rival][:, column] for column, rival in enumerate(rivals)])
        for name, values in scores.items():
            line = f"  {name:36}" + " / ".join(f"{100 * value:.1f}" for value in values.mean(axis=0))
            if name not in BASELINES:
                tests = compare(values, best, RESAMPLES)
                line += "  p " + " ".join(f"{test.permutation:.3f}" for test in tests)
            print(line)  # noqa: T201


def score(texts: Sequence[str], items: Sequence[Case]) -> VALUES:
    """Return F1 of each summary, (documents, measures)."""
    results = [ROUGE.score(text, item.reference) for text, item in zip(texts, items, strict=True)]
    return np.array([[result[measure].f1 for measure in MEASURES] for result in results])


def by_ranker(case: Case, ranker: Ranker, words: int) -> str:
    """Summarise by the scores of a ranker."""
    texts = case.prose()
    features = sentence_features(case.sentences, find_candidates(case.sentences), case.document.title)
    return cut(texts, select(texts, ranker.score(features), 3 * words), words)


def by_selector(case: Case, selector: SentenceSelector, words: int) -> str:
    """Summarise as the program does at a length; of a longer summary, the first words count."""
    candidates = selector.candidates(case.document, case.sentences, ENGLISH)
    target = LengthTarget(amount=round(LONGER * words), in_sentences=False, tokens=words)
    texts = [text for _, text in selector.select(candidates, target=target)]
    return " ".join(" ".join(texts).split()[:words])


def by_ranks(case: Case, name: str, words: int) -> str:
    """Summarise by a baseline, from all sentences of prose."""
    texts = case.prose()
    ranks: Mapping[str, Callable[[], VALUES]] = {
        "LEAD": lambda: -np.arange(len(texts), dtype=np.float64),
        "LexRank": lambda: lexrank([TOKENIZER.tokenize(text) for text in texts]),
        "TextRank": lambda: textrank([TOKENIZER.tokenize(text) for text in texts]),
        "random": lambda: random_ranks(case.id, len(texts)),
    }
    return cut(texts, np.argsort(-ranks[name](), kind="stable").tolist(), words)


def cut(texts: Sequence[str], best_first: Sequence[int], words: int) -> str:
    """Join sentences in source order, `words` of them; the last one in the order of selection is cut."""
    parts: list[tuple[int, str]] = []
    for index in best_first:
        if words <= 0:
            break
        parts.append((index, " ".join(texts[index].split()[:words])))
        words -= len(texts[index].split())
    return " ".join(text for _, text in sorted(parts))


if __name__ == "__main__":
    main()
