"""The ranker of the first experiment, as a baseline of `ranker_table.py`: 27 features and boosting by scikit-learn.

    python docs/scripts/first_ranker.py OUT.jsonl RFC_TRAIN.jsonl NAME:WORDS=FILE.jsonl ... [--documents 900]

Trains on rows of RFCs with "document" and "summary", and writes one summary per row of the other files, as "kind",
"id", "words" and "summary". Headings are short paragraphs without a final stop; paragraphs of several lines, such as
tables and code, are skipped. Needs scikit-learn (1.9), which is no dependency of the package.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from sumpool.evaluation.agreement import RougeTokenizer
from sumpool.evaluation.baselines import lexrank
from sumpool.ranking.labels import sentence_labels
from sumpool.text.language import languages
from sumpool.text.sentences import SentenceSplitter

SPLITTER, TOKENIZE = SentenceSplitter(), RougeTokenizer(stemmer=True).tokenize
FUNCTION_WORDS = languages()["en"].function_words
INTRODUCTION = re.compile(r"introduct|overview|background|purpose|scope|summary|motivation|description|about", re.I)
CONCLUSION = re.compile(r"conclusion|discussion|summary|concluding", re.I)
CUES = frozenset(
    re.split(
        r"\s+",
        """this we paper document memo propose describe describes define
        defines present presents show shows results conclude conclusion introduce
        provides specifies purpose goal aim new approach method""",
    )
)
SELF = re.compile(r"\b(?:we|our|this (?:paper|document|memo|study|package|manual|article|specification))\b", re.I)
PRONOUN = re.compile(r"(?:this|these|it|they|he|she|however|also|but|and|so|then|thus|therefore|moreover)\b", re.I)
MAX_SENTENCES, COMMON, FIRST, REDUNDANCY = 600, 15, 5, 0.3


def main() -> None:
    """Train, and write the summaries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--documents", type=int, default=900)
    arguments = parser.parse_args()
    rows, labels = [], []
    lines = arguments.train.read_text("utf-8").splitlines()
    for line in lines[:: max(1, len(lines) // arguments.documents)][: arguments.documents]:
        row = json.loads(line)
        sentences, features = describe(row["document"])
        rows.append(features)
        labels.append(sentence_labels(sentences, row["summary"], TOKENIZE))
    model = HistGradientBoostingRegressor(
        max_iter=250, learning_rate=0.06, max_leaf_nodes=15, min_samples_leaf=100, random_state=0
    )
    model.fit(np.concatenate(rows), np.concatenate(labels))
    with arguments.out.open("w", encoding="utf-8") as file:
        for test in arguments.tests:
            name, _, path = test.partition("=")
            kind, _, words = name.partition(":")
            for line in Path(path).read_text("utf-8").splitlines():
                row = json.loads(line)
                sentences, features = describe(row["document"])
                scores = model.predict(features) if sentences else np.zeros(0)
                text = take(sentences, scores, int(words))
                file.write(json.dumps({"kind": kind, "id": row["id"], "words": int(words), "summary": text}) + "\n")


def describe(document: str) -> tuple[list[str], NDArray[np.float64]]:
    """Return the sentences of a document, at most 600, and their features, (sentences, 27)."""
    sentences: list[str] = []
    places: list[tuple[int, int, int, int]] = []
    headings = [""]
    section_start = paragraph = 0
    for block in re.split(r"\n\s*\n", document):
        text = block.strip()
        if "\n" in text or not text:
            continue
        if len(text.split()) <= 12 and text[-1] not in ".!?:;,":
            headings.append(text)
            section_start, paragraph = len(sentences), 0
            continue
        for number, sentence in enumerate(SPLITTER.split(text)):
            sentences.append(" ".join(sentence.split()))
            places.append((len(headings) - 1, len(sentences) - 1 - section_start, paragraph, number))
        paragraph += 1
    del sentences[MAX_SENTENCES:], places[MAX_SENTENCES:]
    return sentences, _features(sentences, places, headings)


def _features(
    sentences: Sequence[str], places: Sequence[tuple[int, int, int, int]], headings: Sequence[str]
) -> NDArray[np.float64]:
    count = len(sentences)
    if not count:
        return np.zeros((0, 27))
    words = [TOKENIZE(sentence) for sentence in sentences]
    content = [[word for word in row if word not in FUNCTION_WORDS] for row in words]
    totals = Counter(word for row in content for word in row)
    common = {word for word, _ in totals.most_common(COMMON)}
    heading_words = {word for heading in headings for word in TOKENIZE(heading)} - FUNCTION_WORDS
    first_words = {word for row in content[:FIRST] for word in row}
    centrality = lexrank(content) * count
    frame = [index for index in range(count) if index < 0.3 * count or index >= 0.92 * count]
    among = np.zeros(count)
    among[frame] = lexrank([content[index] for index in frame]) * len(frame)
    order = np.argsort(np.argsort(-centrality)) / count
    rows = []
    for index, (section, in_section, paragraph, number) in enumerate(places):
        text, row, unique = sentences[index], words[index], set(content[index])
        size = max(len(row), 1)
        rows.append(
            [
                *(centrality[index], order[index], among[index], index / count, np.log1p(index)),
                *(np.log1p(count - 1 - index), in_section, section / len(headings), np.log1p(paragraph)),
                *(
                    number == 0,
                    bool(INTRODUCTION.search(headings[section])),
                    bool(CONCLUSION.search(headings[section])),
                ),
                *(len(row), len(content[index]), len(unique & common) / max(len(unique), 1)),
                np.mean([totals[word] for word in unique] or [0]) / max(len(content), 1),
                *(len(unique & heading_words) / max(len(unique), 1), len(unique & first_words) / max(len(unique), 1)),
                *(
                    sum(word in CUES for word in text.lower().split()),
                    bool(SELF.search(text)),
                    bool(PRONOUN.match(text)),
                ),
                *(sum(map(str.isdigit, text)) / len(text), text.count("("), text.count(",") / size),
                sum(word[:1].isupper() for word in text.split()) / size,
                *(count, np.log1p(sum(map(len, words)))),
            ]
        )
    return np.array(rows, dtype=np.float64)


def take(sentences: Sequence[str], scores: NDArray[np.float64], words: int) -> str:
    """Join sentences selected by score less redundancy, in source order; the last one selected is cut."""
    content = [set(TOKENIZE(sentence)) - FUNCTION_WORDS for sentence in sentences]
    available = np.argsort(-scores, kind="stable")[:80].tolist()
    selected: list[tuple[int, int]] = []
    covered: set[str] = set()
    while words > 0 and available:
        best = max(
            available,
            key=lambda index: (
                scores[index] - REDUNDANCY * (len(content[index] & covered) / max(len(content[index]), 1)) ** 2
            ),
        )
        available.remove(best)
        selected.append((best, words))
        words -= len(sentences[best].split())
        covered |= content[best]
    return " ".join(" ".join(islice(sentences[index].split(), room)) for index, room in sorted(selected))


if __name__ == "__main__":
    main()
