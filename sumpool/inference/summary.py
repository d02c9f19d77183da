"""Summaries as values: text, origin, evidence, and what a reader is told about them."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from sumpool.documents.source_sentences import SourceSentence

NO_TEXT = "the document must hold text, got none"
"""Reason of a document without a sentence or a token."""
_LEFT_OUT = ("extraction", "sentences", "source", "evidence", "key_points", "sections")
"""Fields that are no part of the JSON, or in another form."""


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

    @property
    def place(self) -> str:
        """Document, page and line, such as "page 3" or "line 120"; empty if none is known."""
        parts = [self.document] if self.document else []
        parts += [f"page {self.page}"] if self.page is not None else []
        return ", ".join([*parts, f"line {self.line}"] if self.line is not None else parts)

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


@dataclass(frozen=True)
class Extraction:
    """Sentences selected from a document; none if the text is generated.

    Attributes:
        sentences: The sentences in the order of the document, with single spaces.
        indices: Index of each among the sentences of the document, see `source_sentences`.
        cause: Why sentences replace generated text, and how far they miss a target length; empty otherwise.
    """

    sentences: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()
    cause: str = ""


NO_EXTRACTION = Extraction()


@dataclass(frozen=True)
class SectionSummary:
    """Summary of a section.

    Attributes:
        level: Depth of the section, from 1.
        heading: Its heading.
        sentences: One or two sentences of it; none of a section that only has subsections.
    """

    level: int
    heading: EvidenceSource
    sentences: tuple[EvidenceSource, ...]

    def entry(self) -> dict[str, Any]:
        """Return the section as values of JSON."""
        place = self.heading.entry()
        sentences = [sentence.entry() for sentence in self.sentences]
        return {"heading": place.pop("text"), "level": self.level, **place, "sentences": sentences}


@dataclass(frozen=True)
class Summary:
    """Summary of one document.

    Attributes:
        id: Id of the document.
        summary: The text; empty if there is a reason.
        score: sum(log p) / length ** length_penalty of the best hypothesis, in nats; None in mode
            extractive, and where no model was needed.
        tokens_read: Tokens of the document that the model read.
        tokens_total: Tokens of the document.
        seconds: The document's share of the time.
        reason: Why the summary is empty; empty otherwise.
        mode: "abstractive", "extractive", or "rewritten", see `Rewriter`.
        title: Title of the document; empty if it has none.
        language: Language of the document (ISO 639-1); empty if it is unknown.
        model: Name of the model.
        notes: What reading the document removed or guessed.
        sentences: Sentences of the text, with single spaces; not a part of the JSON.
        extraction: The sentences of an extractive summary; not a part of the JSON.
        source: Sentences of the document; not a part of the JSON.
        evidence: Sources of each sentence; None unless asked for.
        key_points: Further sentences of the document; None unless asked for.
        sections: Summaries of its sections; None unless asked for.
    """

    id: str
    summary: str
    score: float | None
    tokens_read: int
    tokens_total: int
    seconds: float
    reason: str = ""
    mode: str = "abstractive"
    title: str = ""
    language: str = ""
    model: str = ""
    notes: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    extraction: Extraction = NO_EXTRACTION
    source: tuple[SourceSentence, ...] = ()
    evidence: Evidence | None = None
    key_points: tuple[EvidenceSource, ...] | None = None
    sections: tuple[SectionSummary, ...] | None = None

    def as_json(self) -> str:
        """Render the summary as one line of JSON, without the line feed."""
        entries = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _LEFT_OUT}
        entries["seconds"] = round(self.seconds, 4)
        entries["score"] = self.score if self.score is None else round(self.score, 6)
        if self.evidence is not None:
            entries["evidence"] = self.evidence.entries()
        if self.key_points is not None:
            entries["key_points"] = [point.entry() for point in self.key_points]
        if self.sections is not None:
            entries["sections"] = [section.entry() for section in self.sections]
        return json.dumps(entries, ensure_ascii=False, allow_nan=False)
