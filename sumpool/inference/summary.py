"""Summaries as values: text, origin, evidence, and what a reader is told about them."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.language import separator

NO_TEXT = "the document must hold text, got none"
"""Reason of a document without a sentence or a token."""


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

    def entry(self) -> dict[str, Any]:
        """Return the evidence as values of JSON, weights with four digits."""
        sources = [source.entry() | {"weight": round(source.weight, 4)} for source in self.sources]
        return {"sentence": self.sentence, "unsupported": self.unsupported, "sources": sources}


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
class SummarySentence:
    """Sentence of a summary.

    Attributes:
        text: The sentence, with single spaces.
        span: Start and end of the sentence in the text of the document, in characters; None if it was generated.
        index: Index among the sentences of the document; None if it was generated.
    """

    text: str
    span: tuple[int, int] | None = None
    index: int | None = None


@dataclass(frozen=True)
class Summary:
    """Summary of one document.

    Attributes:
        id: Path of the file, or `path:line` or the id for a line of JSON; number of a text in a call of `Summarizer`,
            from 1.
        text: The summary; empty if there is a reason.
        score: sum(log p) / length ** length_penalty of the best hypothesis, in nats, also if it is not the text;
            None in mode extractive, and where no model was needed.
        tokens_read: Tokens of the document that the model read.
        tokens_total: Tokens of the document.
        seconds: The document's share of the time.
        reason: Why there is no summary; empty otherwise.
        mode: "extractive" if the summary consists of sentences of the document, "abstractive" if it was generated, or
            "rewritten", see `Rewriter`.
        title: Title of the document; empty if it has none.
        language: Language of the document (ISO 639-1); empty if it is unknown.
        model: Name of the model; empty in results of `Summarizer`.
        notes: What reading the document removed or guessed.
        cause: Why sentences replace generated text, and how far they miss a length that is asked for; empty otherwise.
        sentences: Sentences of the summary.
        source: Sentences of the document; empty in results of `Summarizer`.
        evidence: Sources of each sentence; None unless asked for.
        read: Indices of the source sentences that the model read; None if no model read the document.
        document: Text of the document; empty unless an HTML page shows it.
        key_points: Further sentences of the document, with their places; None unless asked for.
        sections: Summaries of its sections; None unless asked for.
    """

    id: str
    text: str
    score: float | None
    tokens_read: int
    tokens_total: int
    seconds: float = field(default=0.0, compare=False)
    reason: str = ""
    mode: str = "abstractive"
    title: str = ""
    language: str = ""
    model: str = ""
    notes: tuple[str, ...] = ()
    cause: str = ""
    sentences: tuple[SummarySentence, ...] = ()
    source: tuple[SourceSentence, ...] = ()
    evidence: tuple[SentenceEvidence, ...] | None = None
    read: frozenset[int] | None = None
    document: str = ""
    key_points: tuple[EvidenceSource, ...] | None = None
    sections: tuple[SectionSummary, ...] | None = None

    @property
    def indices(self) -> tuple[int, ...]:
        """Index of each sentence among those of the document; empty if the summary was generated."""
        return tuple(sentence.index for sentence in self.sentences if sentence.index is not None)

    def items(self) -> list[str]:
        """Return the items of a list: the sentences, and a table of contents as one of them."""
        indices = self.indices if self.source else ()
        is_heading = [self.source[index].kind == "heading" for index in indices]
        sentences = [sentence.text for sentence in self.sentences]
        start = is_heading.index(True) if True in is_heading else len(sentences)
        contents = separator(self.language).join(sentences[start:])
        return [*sentences[:start], *filter(None, (contents,))]

    def as_json(self) -> str:
        """Render the summary as one line of JSON, without the line feed."""
        entries = {
            "id": self.id,
            "summary": self.text,
            "score": self.score if self.score is None else round(self.score, 6),
            "tokens_read": self.tokens_read,
            "tokens_total": self.tokens_total,
            "seconds": round(self.seconds, 4),
            **{name: getattr(self, name) for name in ("reason", "mode", "title", "language", "model", "notes")},
        }
        for name in ("evidence", "key_points", "sections"):
            if (parts := getattr(self, name)) is not None:
                entries[name] = [part.entry() for part in parts]
        return json.dumps(entries, ensure_ascii=False, allow_nan=False)
