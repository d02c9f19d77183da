"""Scores of one document: its summary and the baselines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sumpool.evaluation.baselines import Ranks, lexrank, oracle, random_ranks, take_sentences, textrank
from sumpool.evaluation.config import EqualLength, EvaluationConfig
from sumpool.evaluation.rouge import Rouge, Score, Tokenize, UnicodeTokenizer
from sumpool.text.fragments import Copying, copying, repetition
from sumpool.text.language import split_words
from sumpool.text.sentences import SentenceSplitter


@dataclass(frozen=True)
class Candidate:
    """Summary to be scored.

    Attributes:
        id: ID of the document.
        summary: The summary.
        reference: The reference summary.
        document: Text of the document; None if unknown, which leaves out the baselines.
        share_read: Fraction of the document that the model read; None if unknown.
        mode: "abstractive" or "extractive"; empty if unknown.
    """

    id: str
    summary: str
    reference: str
    document: str | None
    share_read: float | None = None
    mode: str = ""


@dataclass(frozen=True)
class ReferenceDocument:
    """Document with its reference summary.

    Attributes:
        id: ID of the document.
        reference: The reference summary.
        document: Text of the document; None if unknown.
    """

    id: str
    reference: str
    document: str | None


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
        self.rouge = Rouge(
            stemmer=config.stemmer,
            split=self._splitter.split,
            splitter="sumpool's English",
            tokenizer=config.tokenizer,
        )
        self._tokenizer = self.rouge.tokenizer
        self._words = self._tokenizer.words if isinstance(self._tokenizer, UnicodeTokenizer) else split_words
        length = "" if equal_length else f"-{config.lead_words}"
        names: dict[str, str] = {
            "lead": f"LEAD{length}",
            "lexrank": f"LexRank{length}",
            "textrank": f"TextRank{length}",
            "random": f"random{length}",
            "oracle": f"oracle-{config.oracle_sentences}",
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
        """Score a summary, those of other systems, and the baselines of the document if known."""
        document, reference = candidate.document, candidate.reference
        texts, words = {"model": candidate.summary, **others}, self._config.lead_words
        if self._equal_length:
            compared = [reference] if self._equal_length == "references" else texts.values()
            words = min(filter(None, map(self._tokenizer.count_words, compared)), default=0)
            texts = {system: self._tokenizer.first_words(text, words) for system, text in texts.items()}
        if document is not None:
            texts |= self._baseline_texts(candidate, document, words)
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
            id=candidate.id,
            summary=candidate.summary,
            leak=copied[-1].leak if copied[-1] else None,
            share_read=candidate.share_read,
            scorable=self.rouge.has_words(reference),
            systems=systems,
            document_words=None if document is None else self._tokenizer.count_words(document),
            mode=candidate.mode,
        )

    def _baseline_texts(self, candidate: Candidate, document: str, count: int) -> dict[str, str]:
        tokenizer = self._tokenizer
        tokenize: Tokenize = cache(tokenizer.tokenize)  # of the sentences of this document
        texts = {"lead": tokenizer.first_words(document, count)} if "lead" in self.baselines else {}
        if self.baselines.keys() <= {"lead"}:
            return texts
        sentences = self._splitter.split(document)
        tokens = [tokenize(sentence) for sentence in sentences]
        rankings: dict[str, Callable[[], Ranks]] = {
            "lexrank": lambda: lexrank(tokens),
            "textrank": lambda: textrank(tokens),
            "random": lambda: random_ranks(candidate.id, len(sentences)),
        }
        for name in self.baselines:
            if name == "oracle":
                texts[name] = oracle(sentences, candidate.reference, self._config.oracle_sentences, tokenize)
            elif name in rankings:
                texts[name] = take_sentences(sentences, rankings[name](), count, tokenizer)
        return texts
