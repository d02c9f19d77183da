"""Documents with a planted signal: the sentences that say what the document is are those of the reference."""

import random
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from marked_documents import sentence_hashes

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.evaluation.rouge import RougeTokenizer
from sumpool.ranking.features import SentenceFeatures, sentence_features
from sumpool.ranking.fit import RankingExample, sentence_labels
from sumpool.ranking.marks import MarkedExample, Marks
from sumpool.ranking.selection import find_candidates
from sumpool.text.sentences import SentenceSplitter

SPLITTER = SentenceSplitter()
WORDS = (
    *("gateway", "packet", "router", "channel", "buffer", "signal", "driver", "window", "socket", "thread", "module"),
    *("kernel", "record", "vector"),
)


def example(seed: int, kind: str = "") -> RankingExample:
    """Return a document whose reference stands behind "We describe" in a random section of three."""
    generator = random.Random(seed)
    names = generator.sample(WORDS, 6)
    sections = []
    place = generator.randrange(3)
    for number in range(3):
        sentences = [
            f"The {names[0]} of the {generator.choice(WORDS)} is a {generator.choice(WORDS)} in the {names[1]}."
            for _ in range(5)
        ]
        if number == place:
            sentences.insert(
                generator.randrange(1, 4), f"We describe the {names[2]} and the {names[3]} for the {names[4]}."
            )
        sections.append(f"## Part {number}\n\n" + " ".join(sentences))
    reference = f"We describe the {names[2]} and the {names[3]} for the {names[4]}."
    text = "\n\n".join(sections)
    features, texts = featured(text)
    return RankingExample(features, sentence_labels(texts, reference, RougeTokenizer(stemmer=True).tokenize), kind)


def marked(seed: int) -> MarkedExample:
    """A document whose planted sentence is marked as best, the one before as dependent, and the first as junk."""
    planted = example(seed)
    place = int(planted.labels.argmax())
    count = np.arange(len(planted.labels))
    everything = np.ones(len(count), bool)
    first = count == 0
    return MarkedExample(
        planted.features, (count == place).astype(float), count == place - 1, first, everything, everything
    )


def featured(text: str, title: str = "") -> tuple[SentenceFeatures, list[str]]:
    """Return features and texts of the candidates of a text."""
    document = Document("a", text, title=title)
    sentences = source_sentences(document, SPLITTER)
    candidates = find_candidates(sentences)
    return sentence_features(sentences, candidates, title), [sentences[index].text for index in candidates]


def row_of(marks: Marks, sentences: Sequence[SourceSentence]) -> dict[str, Any]:
    """Return marks as a row of a corpus."""
    return {**asdict(marks), "hashes": "".join(sentence_hashes(sentences))}
