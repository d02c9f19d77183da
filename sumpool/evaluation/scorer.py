"""One document scored: the summary to judge, LEAD, LexRank and the oracle, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass

from sumpool.evaluation.abstractiveness import Copying, copying, repetition
from sumpool.evaluation.baselines import lead, lexrank, oracle
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.rouge import Rouge, Score
from sumpool.text.fragments import words
from sumpool.text.sentences import SentenceSplitter


@dataclass(frozen=True)
class Candidate:
    """A summary to judge.

    Attributes:
        id: Name of the document.
        summary: What was written.
        reference: What should have been written.
        document: The document; None where it is not known, and then there are no baselines.
        share_read: Share of the document that the model read; None where that is not known.
    """

    id: str
    summary: str
    reference: str
    document: str | None
    share_read: float | None = None


@dataclass(frozen=True)
class Measures:
    """What is measured of one summary.

    Attributes:
        rouge: ROUGE-1, -2, -L and -Lsum by name.
        words: Its length, in words between white space.
        repetition: Share of its runs of three words that occurred in it before.
        copying: How it uses the document's words; None without a document.
    """

    rouge: Mapping[str, Score]
    words: int
    repetition: float
    copying: Copying | None


@dataclass(frozen=True)
class ScoredDocument:
    """A document's line of figures.

    Attributes:
        id: Name of the document.
        summary: The summary that was judged.
        leak: Share of the reference's runs of eight words that stand in the document; None without a document.
        share_read: Share of the document that the model read; None where that is not known.
        visible: Whether the reference has a word that ROUGE can see.
        systems: Measures of "model", and with a document of "lead", "lexrank" and "oracle".
    """

    id: str
    summary: str
    leak: float | None
    share_read: float | None
    visible: bool
    systems: Mapping[str, Measures]


class SummaryScorer:
    """Scores documents one at a time; keeps nothing of them.

    The sentence splitter is the one that the package ships, for references, summaries and documents of every run, so
    that figures of different runs, and of summaries from elsewhere, can be compared.

    Attributes:
        rouge: ROUGE alone, for a quick look.
        names: What the systems are called in a table.
        signature: Every setting that the figures of a document depend on.
    """

    def __init__(self, config: EvaluationConfig) -> None:
        self._config = config
        self._split = SentenceSplitter.default().split
        self.rouge = Rouge(stemmer=config.stemmer, split=self._split, splitter="punkt (sumpool's English)")
        self.names = {
            "model": "model",
            "lead": f"LEAD-{config.lead_words} words",
            "lexrank": f"LexRank-{config.lead_words} words",
            "oracle": f"oracle-{config.oracle_sentences} sentences",
        }
        self.signature = " | ".join([self.rouge.signature, *list(self.names.values())[1:]])

    def score(self, candidate: Candidate) -> ScoredDocument:
        """Score a summary, and the baselines of its document if that is known."""
        texts = {"model": candidate.summary}
        document_words = None
        if candidate.document is not None:
            document_words = words(candidate.document)
            texts["lead"] = lead(candidate.document, self._config.lead_words)
            sentences, tokenize = self._split(candidate.document), self.rouge.words.tokenize
            texts["lexrank"] = lexrank(sentences, self._config.lead_words, tokenize)
            texts["oracle"] = oracle(sentences, candidate.reference, self._config.oracle_sentences, tokenize)
        return ScoredDocument(
            id=candidate.id,
            summary=candidate.summary,
            leak=None if document_words is None else copying(candidate.reference, document_words).leak,
            share_read=candidate.share_read,
            visible=self.rouge.has_words(candidate.reference),
            systems={
                system: self._measure(text, candidate.reference, document_words) for system, text in texts.items()
            },
        )

    def _measure(self, text: str, reference: str, document_words: list[str] | None) -> Measures:
        return Measures(
            rouge=self.rouge.score(text, reference),
            words=len(text.split()),
            repetition=repetition(text),
            copying=None if document_words is None else copying(text, document_words),
        )
