"""Scores of one document: its summary and the baselines LEAD, random sentences, LexRank, TextRank and the oracle.

LexRank is a random walk over sentences weighted by their similarity, see `sumpool.text.word_graph`.

TextRank is the weighted PageRank of Mihalcea and Tarau (2004, sections 2.2 and 4) over the graph of sentences whose
edges weigh the number of common words over log |S_i| + log |S_j|. The denominator depends on the lengths of both
sentences only, so a step sums over words and over pairs of lengths instead of pairs of sentences.

The oracle greedily selects the sentences with the highest ROUGE-1 + ROUGE-2 F1 against the reference.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sumpool.evaluation.rouge import (
    Agreement,
    EqualLength,
    EvaluationConfig,
    Rouge,
    Score,
    Tokenize,
    UnicodeTokenizer,
    WordTokenizer,
)
from sumpool.text.fragments import Copying, copying, repetition
from sumpool.text.language import split_words
from sumpool.text.sentences import SentenceSplitter, join
from sumpool.text.word_graph import SentenceWords, WordGraph

_ORACLE_SENTENCES = 3
_DAMPING = 0.85
"""Probability that a step of TextRank follows an edge instead of jumping to any sentence."""
_TOLERANCE = 1e-9
"""TextRank ends once no rank changes by this much in a step."""
_MAX_STEPS = 200
"""Maximum steps of TextRank; 0.85 ** 128 is below the tolerance."""

Ranks = NDArray[np.float64]
"""Rank of each sentence, (sentences,): the highest are taken first."""


@dataclass(frozen=True)
class ReferenceDocument:
    """Document with its reference summary.

    Attributes:
        id: ID of the document.
        reference: The reference summary.
        document: Text of the document; None if unknown, which leaves out the baselines.
    """

    id: str
    reference: str
    document: str | None


@dataclass(frozen=True)
class Candidate:
    """Summary to be scored.

    Attributes:
        source: The document and its reference.
        summary: The summary.
        share_read: Fraction of the document that the model read; None if unknown.
        mode: "abstractive" or "extractive"; empty if unknown.
    """

    source: ReferenceDocument
    summary: str
    share_read: float | None = None
    mode: str = ""


@dataclass(frozen=True)
class SummaryMetrics:
    """Metrics of one summary.

    Attributes:
        rouge: ROUGE-1, -2, -L and -Lsum by name.
        words: Length in words.
        repetition: Fraction of trigrams that occurred earlier in the summary.
        copying: Overlap with the document; None without a document.
    """

    rouge: Mapping[str, Score]
    words: int
    repetition: float
    copying: Copying | None


@dataclass(frozen=True)
class ScoredDocument:
    """Scores of one document, a line of `documents.jsonl`.

    Attributes:
        id: ID of the document.
        summary: The summary that was scored.
        leak: Fraction of the reference's 8-grams that occur in the document; None without a document.
        share_read: Fraction of the document that the model read; None if unknown.
        scorable: Whether the reference has any word that ROUGE counts.
        systems: Metrics of "model", of other systems if given and, with a document, of the baselines.
        document_words: Length of the document in words; None without a document.
        mode: "abstractive" or "extractive"; empty if unknown.
    """

    id: str
    summary: str
    leak: float | None
    share_read: float | None
    scorable: bool
    systems: Mapping[str, SummaryMetrics]
    document_words: int | None = None
    mode: str = ""


class SummaryScorer:
    """Scorer of single documents, without state.

    References, summaries and documents of all runs are split into sentences by the splitter that the package ships, so
    that scores of different runs, and of summaries from other systems, are comparable.

    Attributes:
        rouge: ROUGE without baselines.
        baselines: Names of the baselines in tables, by system.
        signature: All settings that the scores of a document depend on, in one line.
    """

    def __init__(self, config: EvaluationConfig, equal_length: EqualLength | None = None) -> None:
        """Load the sentence splitter.

        Args:
            config: The settings.
            equal_length: Length that all summaries of a document are cut to, but for the oracle's; None cuts none, and
                gives the baselines the length of the settings.
        """
        self._config = config
        self._equal_length = equal_length
        self._splitter = SentenceSplitter()
        self.rouge = Rouge(stemmer=config.stemmer, tokenizer=config.tokenizer)
        self._tokenizer = self.rouge.tokenizer
        self._words = self._tokenizer.words if isinstance(self._tokenizer, UnicodeTokenizer) else split_words
        length = "" if equal_length else f"-{config.lead_words}"
        names = {
            "lead": f"LEAD{length}",
            "lexrank": f"LexRank{length}",
            "textrank": f"TextRank{length}",
            "random": f"random{length}",
            "oracle": f"oracle-{_ORACLE_SENTENCES}",
        }
        self.baselines: dict[str, str] = {name: shown for name, shown in names.items() if name in config.baselines}
        described = [self.rouge.signature]
        for name in config.baselines:
            unit = " sentences" if name == "oracle" else "" if equal_length else " words"
            described.append(self.baselines[name] + unit)
        if equal_length:
            described.append(f"cut to the {equal_length}")
        if not config.baselines:
            described.append("no baselines")
        self.signature = " | ".join(described)

    def score(self, candidate: Candidate, others: Mapping[str, str] = MappingProxyType({})) -> ScoredDocument:
        """Score a summary, those of other systems, and the baselines if the document is known.

        Args:
            candidate: The summary, scored as "model".
            others: Summaries of the same document by other systems.
        """
        document, reference = candidate.source.document, candidate.source.reference
        texts, words = {"model": candidate.summary, **others}, self._config.lead_words
        if self._equal_length:
            compared = [reference] if self._equal_length == "references" else texts.values()
            words = min(filter(None, map(self._tokenizer.count_words, compared)), default=0)
            texts = {system: self._tokenizer.first_words(text, words) for system, text in texts.items()}
        if document is not None:
            texts |= self._baseline_texts(candidate.source, document, words)
        copied: list[Copying | None] = [None] * (len(texts) + 1)
        if document is not None:
            copied = [*copying([*texts.values(), reference], self._words(document), self._words)]
        systems = {
            system: SummaryMetrics(
                rouge=self.rouge.score(text, reference),
                words=self._tokenizer.count_words(text),
                repetition=repetition(text, self._words),
                copying=overlap,
            )
            for (system, text), overlap in zip(texts.items(), copied[:-1], strict=True)
        }
        return ScoredDocument(
            id=candidate.source.id,
            summary=candidate.summary,
            leak=copied[-1].leak if copied[-1] else None,
            share_read=candidate.share_read,
            scorable=self.rouge.has_words(reference),
            systems=systems,
            document_words=None if document is None else self._tokenizer.count_words(document),
            mode=candidate.mode,
        )

    def _baseline_texts(self, source: ReferenceDocument, document: str, count: int) -> dict[str, str]:
        tokenizer = self._tokenizer
        tokenize: Tokenize = cache(tokenizer.tokenize)  # baselines tokenize the same sentences
        texts = {"lead": tokenizer.first_words(document, count)} if "lead" in self.baselines else {}
        if self.baselines.keys() <= {"lead"}:
            return texts
        sentences = self._splitter.split(document)
        tokens = [tokenize(sentence) for sentence in sentences]
        rankings: dict[str, Callable[[], Ranks]] = {
            "lexrank": lambda: lexrank(tokens),
            "textrank": lambda: textrank(tokens),
            "random": lambda: random_ranks(source.id, len(sentences)),
        }
        for name in self.baselines:
            if name == "oracle":
                texts[name] = oracle(sentences, source.reference, _ORACLE_SENTENCES, tokenize)
            elif name in rankings:
                texts[name] = take_sentences(sentences, rankings[name](), count, tokenizer)
        return texts


def take_sentences(sentences: Sequence[str], ranks: Ranks, words: int, tokenizer: WordTokenizer) -> str:
    """Join the sentences with the highest ranks in document order, truncated to a number of words.

    Args:
        sentences: Sentences of the document.
        ranks: Rank of each sentence.
        words: Number of words; a shorter document is returned whole.
        tokenizer: Counts the words.
    """
    selected, missing = [], words
    for index in np.argsort(-ranks, kind="stable").tolist():
        if missing <= 0:
            break
        selected.append(index)
        missing -= tokenizer.count_words(sentences[index])
    return tokenizer.first_words(join([sentences[index] for index in sorted(selected)]), words)


def random_ranks(id: str, sentences: int) -> Ranks:
    """Rank the sentences of a document at random, seeded by the ID of the document."""
    return np.array(random.Random(id).sample(range(sentences), sentences), dtype=np.float64)


def lexrank(sentences: Sequence[Sequence[str]]) -> Ranks:
    """Return the stationary distribution of the walk of LexRank, (sentences,), from the words of each sentence."""
    return WordGraph.of(SentenceWords.of(sentences)).lexrank()


def textrank(sentences: Sequence[Sequence[str]]) -> Ranks:
    """Return the scores of TextRank, (sentences,), from the words of each sentence; 0.15 without a common word.

    Two sentences of one word each have no edge, since the denominator of their similarity is 0. Memory is the number of
    different sentence lengths times the number of words that two sentences share.
    """
    count = len(sentences)
    frequency = Counter(chain.from_iterable(map(set, sentences)))
    graph = WordGraph.of(SentenceWords.of([word for word in sentence if frequency[word] > 1] for sentence in sentences))
    lengths, length = np.unique([len(sentence) for sentence in sentences], return_inverse=True)
    logarithms = np.log(np.maximum(lengths, 1))
    denominator = logarithms[:, None] + logarithms  # (lengths, lengths)
    weight = np.divide(1.0, denominator, out=np.zeros_like(denominator), where=denominator > 0)
    loop = np.bincount(graph.sentence, minlength=count) * weight.diagonal()[length]
    cell = length[graph.sentence] * graph.words + graph.word

    def multiply(vector: Ranks) -> Ranks:
        """Multiply the weights of the graph by a vector (sentences,)."""
        by_length = np.bincount(cell, vector[graph.sentence], len(lengths) * graph.words)
        weighted = weight @ by_length.reshape(len(lengths), graph.words)  # (lengths, words)
        return np.asarray(np.bincount(graph.sentence, weighted.ravel()[cell], count) - loop * vector)

    degree = multiply(np.ones(count))
    inverse = np.divide(1.0, degree, out=np.zeros(count), where=degree > 0)
    ranks = np.ones(count)
    for _ in range(_MAX_STEPS):
        previous, ranks = ranks, 1 - _DAMPING + _DAMPING * multiply(ranks * inverse)
        if np.abs(ranks - previous).max(initial=0.0) < _TOLERANCE:
            break
    return ranks


def oracle(sentences: Sequence[str], reference: str, count: int, tokenize: Tokenize) -> str:
    """Join at most `count` sentences that a greedy search selects for their agreement with the reference.

    Returns:
        The sentences in document order; empty if no sentence shares a word with the reference.
    """
    selected = Agreement(reference, tokenize).select(sentences, count)
    return join([sentences[index] for index in selected])
