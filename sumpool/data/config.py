"""The `data` section of a recipe: the source of documents and their preparation."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from sumpool.data.inputs import PreparedDataConfig, SourceConfig
from sumpool.errors import RecipeError
from sumpool.settings import OneOf, Settings

if TYPE_CHECKING:
    from sumpool.data.inputs import Split
    from sumpool.data.prepare import DocumentEncoder
    from sumpool.data.report import DataReport
    from sumpool.data.shards import Texts


class GapSentencesConfig(Settings):
    """Gap-sentence generation (PEGASUS): principal sentences are removed from a window of a document and generated."""

    words: int = Field(60, ge=10, le=1_000_000)
    """Maximum words removed from a window; one sentence is always removed."""
    window: int = Field(600, ge=30, le=1_000_000)
    """Words per window."""
    windows: int = Field(10, ge=1, le=1_000_000)
    """Maximum windows per document, from its beginning."""


class ShuffledConfig(Settings):
    """Sentence permutation (BART): the sentences of a passage are shuffled and restored to their order."""

    words: int = Field(64, ge=10, le=1_000_000)
    """Maximum words of a passage."""
    passages: int = Field(25, ge=1, le=1_000_000)
    """Maximum passages per document, from its beginning."""


class DataConfig(PreparedDataConfig):
    """Source and preparation of documents with summaries."""

    source: Annotated[SourceConfig, OneOf("sumpool.data.sources")] | None = None
    """Source of the documents and their summaries; null only for imported models."""
    shuffled: ShuffledConfig | None = None
    """Train on documents alone, by sentence permutation, instead of on summaries."""
    gap_sentences: GapSentencesConfig | None = None
    """Train on documents alone, by gap-sentence generation, instead of on summaries."""
    vocabulary: Annotated[int, Field(ge=300, le=256000)] | None = None
    """Vocabulary size, including 256 byte tokens; by default 8000, or the size of `tokenizer`."""
    phrases: int = Field(0, ge=0, le=1_000_000)
    """Size of the phrase vocabulary, including single tokens, that teaches `unigram` boundaries; 0: none."""
    workers: int = Field(2, ge=1, le=1024)
    """Worker processes; the prepared data does not depend on their number."""

    @model_validator(mode="before")
    @classmethod
    def _default_vocabulary(cls, tree: Any) -> Any:  # noqa: ANN401 - any YAML
        return {"vocabulary": 8000, **tree} if isinstance(tree, dict) and tree.get("tokenizer") is None else tree

    @model_validator(mode="after")
    def _require_consistency(self) -> Self:
        if self.vocabulary is None and self.tokenizer is None:
            raise ValueError("vocabulary must be the size of the vocabulary to train, got null; the default is 8000")
        if self.shuffled and self.gap_sentences:
            raise ValueError("shuffled and gap_sentences must not both be set, got both; a run learns one task")
        if self.vocabulary and 0 < self.phrases <= self.vocabulary:
            raise ValueError(f"phrases must be 0 or more than vocabulary = {self.vocabulary}, got {self.phrases}")
        return self

    def require_source(self) -> SourceConfig:
        """Return the source, which preparation requires.

        Raises:
            RecipeError: If no source is set.
        """
        if self.source is None:
            raise RecipeError(
                "data.source must name the documents and their summaries, got null: an imported model has no data; "
                "train a recipe with a source, with data.tokenizer and train.init_from set to the model"
            )
        return self.source

    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on; a setting that is not used is absent."""
        unused = {"vocabulary"} if self.tokenizer else set()
        settings = {"source", "vocabulary", "phrases", "shuffled", "gap_sentences"} - unused
        self.require_source()
        return self.model_dump(mode="json", include=settings, exclude_none=True)

    def train_tokenizer(self, folder: Path, threads: int) -> None:
        """Train the tokenizer on the texts of the training split in a folder, and write its files there."""
        from sumpool.data.shards import Texts
        from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer
        from sumpool.text.tokenizer import SENTENCEPIECE_MODEL

        assert self.vocabulary, "vocabulary is set if tokenizer is not"
        texts = (text for example in Texts(folder, "train") for text in (example.text, example.summary))
        SentencePieceTokenizer.train(texts, folder / SENTENCEPIECE_MODEL, self.vocabulary, threads)

    def prepare_targets(self, folder: Path, texts: "Mapping[Split, Texts]") -> Mapping[str, Any]:
        """Write what targets are encoded with; return what the report states beside the fields of `DataReport`."""
        del folder, texts
        return {}

    @property
    def report(self) -> "type[DataReport]":
        """Class of the report of the prepared data."""
        from sumpool.data.report import DataReport

        return DataReport

    @property
    def encoder(self) -> "Callable[..., DocumentEncoder]":
        """Class that encodes documents with their targets."""
        from sumpool.data.prepare import DocumentEncoder

        return DocumentEncoder
