"""Documents with summaries as examples for training: features and labels of all their sentences of prose."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.evaluation.rouge import Tokenize
from sumpool.ranking.features import SentenceFeatures, sentence_features
from sumpool.ranking.selection import find_candidates
from sumpool.text.sentences import SentenceSplitter

_UNIGRAMS, _BIGRAMS = 0.5, 1.0
"""Weights of the precision in words and in pairs of words."""


def sentence_labels(sentences: Sequence[str], reference: str, tokenize: Tokenize) -> NDArray[np.float64]:
    """Return the label of each sentence, (sentences,), from 0 to 1.5.

    The label is half the share of the sentence's words that the reference has, plus the share of its pairs of words,
    with counts clipped at those of the reference as in ROUGE.

    Args:
        sentences: Sentences of the document.
        reference: Reference summary.
        tokenize: Tokenizer of the words that are compared.
    """
    words = tokenize(reference)
    unigrams, bigrams = Counter[object](words), Counter[object](pairwise(words))
    labels = np.zeros(len(sentences))
    for index, sentence in enumerate(sentences):
        own_words = tokenize(sentence)
        labels[index] = _UNIGRAMS * _precision(own_words, unigrams) + _BIGRAMS * _precision(
            pairwise(own_words), bigrams
        )
    return labels


def _precision(items: Iterable[object], reference: Counter[object]) -> float:
    counts = Counter(items)
    shared = sum(min(count, reference[item]) for item, count in counts.items())
    return shared / max(sum(counts.values()), 1)


@dataclass(frozen=True)
class RankingExample:
    """A document with labels.

    Attributes:
        features: Features of its candidates.
        labels: Label of each candidate, see `sentence_labels`.
        kind: Kind of the document; cues are words that are frequent in two kinds.
    """

    features: SentenceFeatures
    labels: NDArray[np.float64]
    kind: str = ""

    def sample(self, count: int, seed: Sequence[int]) -> "RankingExample":
        """Return the example with at most `count` candidates: half those with the highest labels, half at random."""
        if len(self.labels) <= count:
            return self
        best = np.argsort(-self.labels, kind="stable")
        half = count // 2
        others = np.random.default_rng(seed).permutation(best[half:])[: count - half]
        rows = np.sort(np.concatenate([best[:half], others]))
        return replace(self, features=self.features.part(rows), labels=self.labels[rows])


def with_abstract(document: Document, reference: str) -> Document:
    """Return a document without known structure that begins with its summary, as that of a person does.

    Preparation takes the reference out of the text; what a ranker is to summarise mostly has it.
    """
    return replace(document, text=f"# Abstract\n\n{reference}\n\n{document.text}")


def labelled_example(
    document: Document, reference: str, splitter: SentenceSplitter, tokenize: Tokenize, kind: str = ""
) -> RankingExample:
    """Return a document with its summary as an example.

    Args:
        document: The document.
        reference: Its summary.
        splitter: Sentence splitter.
        tokenize: Tokenizer of the words that are compared.
        kind: Kind of the document.
    """
    sentences = source_sentences(document, splitter)
    candidates = find_candidates(sentences)
    features = sentence_features(sentences, candidates, document.title)
    texts = [sentences[index].text for index in candidates]
    return RankingExample(features, sentence_labels(texts, reference, tokenize), kind)
