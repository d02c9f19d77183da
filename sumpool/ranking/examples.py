"""Documents with summaries as examples for training: features and labels of all their sentences of prose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.evaluation.agreement import Tokenize
from sumpool.ranking.features import SentenceFeatures, sentence_features
from sumpool.ranking.labels import sentence_labels
from sumpool.ranking.selection import prose_candidates
from sumpool.text.sentences import SentenceSplitter


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

    def with_agreement(self, agreement: NDArray[np.float32]) -> "RankingExample":
        """Return the example with features of sampled summaries, see `agreement_features`."""
        return replace(self, features=replace(self.features, agreement=agreement))

    def sample(self, count: int, seed: Sequence[int]) -> "RankingExample":
        """Return the example with at most `count` candidates: half those with the highest labels, half at random."""
        if len(self.labels) <= count:
            return self
        best = np.argsort(-self.labels, kind="stable")
        half = count // 2
        others = np.random.default_rng(seed).permutation(best[half:])[: count - half]
        rows = np.sort(np.concatenate([best[:half], others]))
        return replace(self, features=self.features.part(rows), labels=self.labels[rows])


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
    candidates = prose_candidates(sentences)
    features = sentence_features(sentences, candidates, document.title)
    return RankingExample(features, sentence_labels([item.text for item in candidates], reference, tokenize), kind)
