"""Results of the Python API: summaries with source spans."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sumpool.inference.mbr_extraction import document_sentences
from sumpool.inference.summaries import Summary
from sumpool.text.cleaning import clean
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
        score: sum(log p) / length ** length_penalty of the generated text, in nats, also if sentences replace it; None
            if there is no summary.
        tokens_read: Tokens of the document that the model read.
        tokens_total: Tokens of the document.
        mode: "extractive" if the summary consists of sentences of the document, "abstractive" if it was generated.
        reason: Why there is no summary; empty otherwise.
    """

    id: str
    text: str
    sentences: tuple[SummarySentence, ...]
    score: float | None
    tokens_read: int
    tokens_total: int
    mode: Literal["extractive", "abstractive"]
    reason: str = ""


def build_result(summary: Summary, text: str, splitter: SentenceSplitter) -> SummaryResult:
    """Split a summary into sentences and locate extracted ones in the text of the document."""
    extraction = summary.extraction
    if extraction.sentences:
        spans = locate_sentences(text, document_sentences(text, splitter))
        pairs = zip(extraction.sentences, extraction.indices, strict=True)
        sentences = tuple(SummarySentence(sentence, spans[index]) for sentence, index in pairs)
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
    )


def locate_sentences(text: str, sentences: Iterable[str]) -> list[tuple[int, int] | None]:
    """Locate sentences in the text that they were split from.

    Args:
        text: The text.
        sentences: Its sentences in order, with other spaces and without characters that cleaning removes.

    Returns:
        Start and end of each sentence in the text; None for one that is not found.
    """
    visible = {character for character in set(text) if clean(character).split()}
    offsets = [offset for offset, character in enumerate(text) if character in visible]
    stripped = "".join(text[offset] for offset in offsets)
    spans: list[tuple[int, int] | None] = []
    position = 0
    for sentence in sentences:
        characters = "".join(sentence.split())
        start = stripped.find(characters, position) if characters else -1
        if start < 0:
            spans.append(None)
            continue
        position = start + len(characters)
        spans.append((offsets[start], offsets[position - 1] + 1))
    return spans
