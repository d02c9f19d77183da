"""Scores of one document: its summary, LEAD, LexRank and the oracle."""

from collections.abc import Mapping
from dataclasses import dataclass

from sumpool.evaluation.abstractiveness import Copying, copying, repetition
from sumpool.evaluation.baselines import lexrank, oracle
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.rouge import Rouge, Score
from sumpool.text.cleaning import first_words
from sumpool.text.fragments import words
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
    """

    id: str
    summary: str
    reference: str
    document: str | None
    share_read: float | None = None


@dataclass(frozen=True)
class SummaryMetrics:
    """Metrics of one summary.

    Attributes:
        rouge: ROUGE-1, -2, -L and -Lsum by name.
        words: Length in whitespace-separated words.
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
        systems: Metrics of "model" and, with a document, of "lead", "lexrank" and "oracle".
    """

    id: str
    summary: str
    leak: float | None
    share_read: float | None
    scorable: bool
    systems: Mapping[str, SummaryMetrics]


class SummaryScorer:
    """Scorer of single documents, without state.

    References, summaries and documents of all runs are split into sentences by the splitter that the package ships, so
    that scores of different runs, and of summaries from other systems, are comparable.

    Attributes:
        rouge: ROUGE without baselines.
        baselines: Names of the baselines in tables, by system.
        signature: All settings that the scores of a document depend on, in one line.
    """

    def __init__(self, config: EvaluationConfig) -> None:
        self._config = config
        self._split = SentenceSplitter.default().split
        self.rouge = Rouge(stemmer=config.stemmer, split=self._split, splitter="punkt (sumpool's English)")
        self.baselines = {
            "lead": f"LEAD-{config.lead_words}",
            "lexrank": f"LexRank-{config.lead_words}",
            "oracle": f"oracle-{config.oracle_sentences}",
        }
        lengths = f"LEAD-{config.lead_words} words | LexRank-{config.lead_words} words"
        self.signature = f"{self.rouge.signature} | {lengths} | oracle-{config.oracle_sentences} sentences"

    def score(self, candidate: Candidate) -> ScoredDocument:
        """Score a summary, and the baselines of its document if known."""
        texts = {"model": candidate.summary}
        document_words = None
        if candidate.document is not None:
            document_words = words(candidate.document)
            texts["lead"] = first_words(candidate.document, self._config.lead_words)
            sentences, tokenize = self._split(candidate.document), self.rouge.tokenizer.tokenize
            texts["lexrank"] = lexrank(sentences, self._config.lead_words, tokenize)
            texts["oracle"] = oracle(sentences, candidate.reference, self._config.oracle_sentences, tokenize)
        return ScoredDocument(
            id=candidate.id,
            summary=candidate.summary,
            leak=None if document_words is None else copying(candidate.reference, document_words).leak,
            share_read=candidate.share_read,
            scorable=self.rouge.has_words(candidate.reference),
            systems={
                system: self._metrics(text, candidate.reference, document_words) for system, text in texts.items()
            },
        )

    def _metrics(self, text: str, reference: str, document_words: list[str] | None) -> SummaryMetrics:
        return SummaryMetrics(
            rouge=self.rouge.score(text, reference),
            words=len(text.split()),
            repetition=repetition(text),
            copying=None if document_words is None else copying(text, document_words),
        )
