"""Bodies of requests and answers, which OpenAPI describes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from sumpool.inference.summarizer import Mode
from sumpool.inference.summary_result import SummaryResult

Text = Annotated[str, Field(description="A document.")]


class SummaryRequest(BaseModel):
    """One text or several, and the options of their summaries."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": "The gateway forwards packets. It keeps routes.", "length": "20w"}]},
    )
    text: Text | None = None
    texts: list[Text] | None = Field(None, description="Documents, instead of `text`.")
    length: str | None = Field(None, description="150w, 5s, 10%, short, medium or long; the model's own by default.")
    mode: Mode | None = Field(None, description="auto, extractive or abstractive; the model's own by default.")


class Sentence(BaseModel):
    """Sentence of a summary, with its start and end in the text of the document unless it was generated."""

    text: str
    span: tuple[int, int] | None


class SummaryAnswer(BaseModel):
    """Summary of one document; `reason` says why there is none."""

    id: str
    text: str
    sentences: list[Sentence]
    mode: str
    tokens_read: int
    tokens_total: int
    reason: str

    @classmethod
    def of(cls, result: SummaryResult) -> "SummaryAnswer":
        """Describe a result."""
        sentences = [Sentence(text=sentence.text, span=sentence.span) for sentence in result.sentences]
        return cls(
            id=result.id,
            text=result.text,
            sentences=sentences,
            mode=result.mode,
            tokens_read=result.tokens_read,
            tokens_total=result.tokens_total,
            reason=result.reason,
        )


class SummaryAnswers(BaseModel):
    """Summaries in the order of the documents."""

    summaries: list[SummaryAnswer]


class ModelAnswer(BaseModel):
    """The model of the service."""

    name: str
    parameters: int


class ModelAnswers(BaseModel):
    """The models of the service."""

    models: list[ModelAnswer]


class ErrorAnswer(BaseModel):
    """One sentence: what was wrong, and what to do."""

    error: str
