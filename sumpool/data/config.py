"""Where documents come from and how they are prepared: the `data` section of a recipe."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from sumpool.data.gap_sentences import GapSentencesConfig, take_out
from sumpool.data.shuffled import ShuffledConfig, shuffle
from sumpool.data.sources._base import Example, Reject, SourceConfig
from sumpool.errors import RecipeError
from sumpool.settings import Settings
from sumpool.variants import OneOf


class DataConfig(Settings):
    """One set of documents with summaries."""

    source: Annotated[SourceConfig, OneOf("sumpool.data.sources")] | None = None
    """Where the documents and their summaries are; only an imported model has none."""
    shuffled: ShuffledConfig | None = None
    """What is learnt in place of summaries: to put shuffled sentences in order; by default summaries are."""
    gap_sentences: GapSentencesConfig | None = None
    """What is learnt in place of summaries: to write sentences that were taken out; by default summaries are."""
    prepared: Path | None = None
    """Folder of the prepared data; by default prepared/<name of the recipe>."""
    tokenizer: Path | None = None
    """Folder of a run or an imported model whose tokenizer is used; by default a vocabulary is learnt. Where
    sentences end is learnt in any case."""
    vocabulary: Annotated[int, Field(ge=300, le=256000)] | None = None
    """Pieces of the vocabulary, the 256 bytes included; 8000 by default, and with `tokenizer` as many as that has."""
    phrases: int = Field(0, ge=0, le=1_000_000)
    """Phrases, single pieces included, that are learnt to teach `unigram` boundaries; 0 learns none."""
    workers: int = Field(2, ge=1)
    """Processes that prepare documents."""

    @model_validator(mode="before")
    @classmethod
    def _usual_vocabulary(cls, tree: Any) -> Any:  # noqa: ANN401 - any YAML
        return {"vocabulary": 8000, **tree} if isinstance(tree, dict) and tree.get("tokenizer") is None else tree

    @model_validator(mode="after")
    def _has_a_vocabulary(self) -> Self:
        if self.vocabulary is None and self.tokenizer is None:
            raise ValueError("vocabulary must be the number of pieces that are learnt, got null; 8000 is usual")
        return self

    @model_validator(mode="after")
    def _learns_one_thing(self) -> Self:
        if self.shuffled and self.gap_sentences:
            raise ValueError("shuffled and gap_sentences must not both be there: a run learns one of them")
        return self

    @model_validator(mode="after")
    def _phrases_hold_pieces(self) -> Self:
        if self.vocabulary and 0 < self.phrases <= self.vocabulary:
            raise ValueError(f"phrases must be 0 or more than vocabulary = {self.vocabulary}, got {self.phrases}")
        return self

    def rows(self) -> Iterator[Example | Reject]:
        """Read every row of the source, one at a time, as what is to be learnt.

        Raises:
            RecipeError: If there is no source.
        """
        rows = self.documents().rows()
        if self.gap_sentences:
            return take_out(rows, self.gap_sentences)
        return shuffle(rows, self.shuffled) if self.shuffled else rows

    def documents(self) -> SourceConfig:
        """Say where the documents are, as preparing them needs it.

        Raises:
            RecipeError: If the recipe does not say it.
        """
        if self.source is None:
            raise RecipeError(
                "data.source must say where the documents and their summaries are, got nothing: an imported model has "
                "none of its own; train a recipe with a source, whose data.tokenizer and train.init_from name the model"
            )
        return self.source
