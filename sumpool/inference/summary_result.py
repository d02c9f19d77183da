"""Results of the Python API: summaries with source spans."""

from dataclasses import dataclass
from typing import Literal

from sumpool.inference.summary import Summary
from sumpool.interpret.evidence import SentenceEvidence
from sumpool.text.sentences import SentenceSplitter


@dataclass(frozen=True)
class SummarySentence:
    """Sentence of a summary.

    Attributes:
        text: The sentence, with single spaces.
        span: Start and end of the sentence in the text of the document, in characters; None if it was generated.
    """

    text: str
    span: tuple[int, int] | None


@dataclass(frozen=True)
class SummaryResult:
    """Summary of one document.

    Attributes:
        id: Path of the file, or `path:line` or the id for a line of JSON; number of a text in the call, from 1.
        text: The summary; empty if there is a reason.
        sentences: Sentences of the summary, those of an extractive summary with their source spans.
        score: sum(log p) / length ** length_penalty of the best hypothesis, in nats, also if it is not the text;
            None in mode extractive, and where no model was needed.
        tokens_read: Tokens of the document that the model read.
        tokens_total: Tokens of the document.
        mode: "extractive" if the summary consists of sentences of the document, "abstractive" if it was generated.
        reason: Why there is no summary; empty otherwise.
        evidence: Sources of each sentence; empty unless asked for.
    """

    id: str
    text: str
    sentences: tuple[SummarySentence, ...]
    score: float | None
    tokens_read: int
    tokens_total: int
    mode: Literal["extractive", "abstractive"]
    reason: str = ""
    evidence: tuple[SentenceEvidence, ...] = ()


def build_result(summary: Summary, splitter: SentenceSplitter) -> SummaryResult:
    """Split a summary into sentences, extracted ones with their places in the text of the document."""
    extraction = summary.extraction
    if extraction.sentences:
        pairs = zip(extraction.sentences, (summary.source[index] for index in extraction.indices), strict=True)
        sentences = tuple(SummarySentence(text, (source.start, source.end)) for text, source in pairs)
    else:
        generated = (" ".join(sentence.split()) for sentence in splitter.split(summary.summary))
        sentences = tuple(SummarySentence(sentence, None) for sentence in generated if sentence)
    return SummaryResult(
        id=summary.id,
        text=summary.summary,
        sentences=sentences,
        score=summary.score,
        tokens_read=summary.tokens_read,
        tokens_total=summary.tokens_total,
        mode="extractive" if extraction.sentences else "abstractive",
        reason=summary.reason,
        evidence=summary.evidence.sentences if summary.evidence else (),
    )
