"""Bodies of requests and answers, which OpenAPI describes."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from sumpool.documents.document import Document
from sumpool.inference.summarizer import Mode
from sumpool.inference.summary import Summary
from sumpool.text.language import word_count

Text = Annotated[str, Field(description="A document.")]


class SummaryOptions(BaseModel):
    """Options of a summary; None is the setting of the model."""

    model_config = ConfigDict(frozen=True)
    length: str | None = Field(None, description="150w, 5s, 10%, short, medium or long; the model's own by default.")
    mode: Mode | None = Field(None, description="extractive or abstractive; the model's own by default.")
    evidence: bool = Field(False, description="Whether answers have the document and the sources of each sentence.")
    focus: str = Field("", max_length=1000, description="Topic or question that the summaries are to be about.")
    key_points: int = Field(0, ge=0, le=100, description="Number of further sentences of each document.")
    sections: bool = Field(False, description="Whether answers have one or two sentences of each section.")
    together: bool = Field(False, description="Whether there is one answer, a digest of all documents.")


class FileOptions(SummaryOptions):
    """Options beside a file that is the body of a request."""

    name: str = Field("the file", max_length=255, description="Name of the file, for its suffix.")


class SummaryRequest(SummaryOptions):
    """One text or several, and the options of their summaries."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": "The gateway forwards packets. It keeps routes.", "length": "20w"}]},
    )
    text: Text | None = None
    texts: list[Text] | None = Field(None, description="Documents, instead of `text`.")

    def documents(self) -> list[Document]:
        """Return the texts as documents that are numbered from 1."""
        texts = self.texts if self.texts is not None else [] if self.text is None else [self.text]
        return [Document(str(number), text) for number, text in enumerate(texts, 1)]

    def options(self, others: SummaryOptions) -> SummaryOptions:
        """Return the options, with others for those that are not given."""
        given = {name: getattr(self, name) or getattr(others, name) for name in SummaryOptions.model_fields}
        return SummaryOptions.model_validate(given)


class Sentence(BaseModel):
    """Sentence of a summary, with its start and end in the text of the document unless it was generated."""

    text: str
    span: tuple[int, int] | None


class PlacedSentence(BaseModel):
    """Sentence of a document with its place; `document` names that of a digest."""

    text: str
    start: int
    end: int
    page: int | None
    line: int | None
    document: str = ""


class Source(PlacedSentence):
    """Sentence of a document that a sentence of the summary comes from, with its share of it."""

    weight: float


class SectionAnswer(BaseModel):
    """Section of a document, its depth from 1, the place of its heading, and one or two sentences of it."""

    heading: str
    level: int
    start: int
    end: int
    page: int | None
    line: int | None
    document: str = ""
    sentences: list[PlacedSentence]


class SentenceSources(BaseModel):
    """Sentence of a summary, numbers and names in it that the document lacks, and its sources, heaviest first."""

    sentence: str
    unsupported: list[str]
    sources: list[Source]


class EvidenceAnswer(BaseModel):
    """Text of the document, and the sources of each sentence of its summary."""

    document: str
    sentences: list[SentenceSources]


class SummaryAnswer(BaseModel):
    """Summary of one document; `reason` says why there is none, and what was not asked for is null or empty."""

    id: str
    title: str
    text: str
    sentences: list[Sentence]
    mode: str
    words: int
    document_words: int
    tokens_read: int
    tokens_total: int
    reason: str
    evidence: EvidenceAnswer | None
    key_points: list[PlacedSentence] = []
    sections: list[SectionAnswer] = []

    @classmethod
    def of(cls, result: Summary, document: Document) -> "SummaryAnswer":
        """Describe the result of a document."""
        entries = [entry.entry() for entry in result.evidence or ()]
        evidence = {"document": document.text, "sentences": entries} if entries else None
        sentences = [Sentence(text=sentence.text, span=sentence.span) for sentence in result.sentences]
        return cls(
            id=result.id,
            title=result.title,
            text=result.text,
            sentences=sentences,
            mode=result.mode,
            words=word_count(result.text),
            document_words=word_count(document.text),
            tokens_read=result.tokens_read,
            tokens_total=result.tokens_total,
            reason=result.reason,
            evidence=EvidenceAnswer.model_validate(evidence) if evidence else None,
            key_points=[PlacedSentence.model_validate(point.entry()) for point in result.key_points or ()],
            sections=[SectionAnswer.model_validate(section.entry()) for section in result.sections or ()],
        )


class SummaryAnswers(BaseModel):
    """Summaries in the order of the documents."""

    summaries: list[SummaryAnswer]


class ModelAnswer(BaseModel):
    """The model of the service; `created` is the start of the service, in seconds since 1970."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["sumpool"] = "sumpool"
    parameters: int


class ModelAnswers(BaseModel):
    """The models of the service."""

    object: Literal["list"] = "list"
    data: list[ModelAnswer]


class ErrorAnswer(BaseModel):
    """One sentence: what was wrong, and what to do."""

    error: str
