"""Evidence of a summary: for each of its sentences the sentences of the source that it comes from, with weights."""

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

from sumpool.documents.source_sentences import SourceSentence


@dataclass(frozen=True)
class EvidenceSource:
    """Source sentence of a summary sentence.

    Attributes:
        index: Index among the sentences of the document.
        text: The sentence, with single spaces.
        start: Start in the text of the document, in characters.
        end: End in the text of the document, in characters.
        page: Page, from 1; None if unknown.
        line: First line of its paragraph, from 1; None if unknown.
        weight: Share of the summary sentence, from 0 to 1; those of all sentences of the document sum to 1.
        document: Id of its document among those of a digest; empty otherwise.
    """

    index: int
    text: str
    start: int
    end: int
    page: int | None
    line: int | None
    weight: float = 1.0
    document: str = ""

    @classmethod
    def of(cls, index: int, sentence: SourceSentence, text: str = "", weight: float = 1.0) -> "EvidenceSource":
        """Return a sentence of a document with its place, and with another text if there is one."""
        return cls(
            index,
            text or sentence.text,
            sentence.start,
            sentence.end,
            sentence.page,
            sentence.line,
            weight,
            sentence.document,
        )

    def entry(self) -> dict[str, Any]:
        """Return text and place as values of JSON; the document if there are several."""
        entry = asdict(self)
        del entry["index"], entry["weight"]
        if not self.document:
            del entry["document"]
        return entry


@dataclass(frozen=True)
class SentenceEvidence:
    """Evidence of a summary sentence.

    Attributes:
        sentence: The sentence, with single spaces.
        unsupported: Numbers and names that the document lacks.
        sources: The heaviest source sentences, heaviest first.
    """

    sentence: str
    unsupported: tuple[str, ...]
    sources: tuple[EvidenceSource, ...]


@dataclass(frozen=True)
class Evidence:
    """Evidence of a summary.

    Attributes:
        sentences: Evidence of each sentence.
        read: Indices of the source sentences that the model read; None if no model read the document.
        text: Text of the document; empty unless asked for.
    """

    sentences: tuple[SentenceEvidence, ...]
    read: frozenset[int] | None = None
    text: str = ""

    def entries(self) -> list[dict[str, Any]]:
        """Return the evidence of each sentence as values of JSON, weights with four digits."""
        return [
            {
                "sentence": sentence.sentence,
                "unsupported": sentence.unsupported,
                "sources": [source.entry() | {"weight": round(source.weight, 4)} for source in sentence.sources],
            }
            for sentence in self.sentences
        ]


def render_evidence_text(evidence: Evidence, width: int = 100) -> str:
    """Render evidence as an indented list: each sentence with its sources, their weights and places.

    Args:
        evidence: Evidence of a summary.
        width: Characters of a line.
    """
    lines: list[str] = []
    for number, sentence in enumerate(evidence.sentences, 1):
        lines += _wrap(sentence.sentence, f"{number}. ", width)
        for source in sentence.sources:
            place = place_name(source)
            lines += _wrap(f"{place}: {source.text}" if place else source.text, f"   {source.weight:4.0%}  ", width)
        if sentence.unsupported:
            lines += _wrap(f"not in the document: {', '.join(sentence.unsupported)}", "     !  ", width)
    return "\n".join(lines)


def place_name(source: EvidenceSource) -> str:
    """Return document, page and line of a sentence, "page 3" or "line 120"; empty if none is known."""
    parts = [source.document] if source.document else []
    parts += [f"page {source.page}"] if source.page is not None else []
    return ", ".join([*parts, f"line {source.line}"] if source.line is not None else parts)


def _wrap(text: str, mark: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=mark, subsequent_indent=" " * len(mark), break_on_hyphens=False)
