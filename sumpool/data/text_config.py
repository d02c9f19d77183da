"""The `data` section of a recipe of a language model: a source of running text and its preparation."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sumpool.data.running_text import RunningTextConfig
from sumpool.data.text_sources._base import TextSourceConfig
from sumpool.settings import OneOf, Settings

Vocabulary = Literal["characters", "bytes", "subwords"]


class TextDataConfig(Settings):
    """Source and preparation of running text."""

    source: Annotated[TextSourceConfig, OneOf("sumpool.data.text_sources")]
    """Source of the text."""
    clean: RunningTextConfig | None = None
    """Normalization in the manner of text8: lower-case letters of one alphabet, digits as words; null keeps the text.
    """
    max_characters: int | None = Field(None, ge=1)
    """Characters of the source that are read; those of training if splits have their own files. Null reads all."""
    max_evaluation_characters: int | None = Field(None, ge=1)
    """Characters that are read of files of validation and of test, each; null reads all."""
    split: Literal["position", "document"] = "position"
    """Division of text without files per split: by position, such as 90, 5 and 5 % of text8, or by a hash of the
    document's id."""
    validation_share: float = Field(0.05, gt=0, le=0.5)
    """Fraction of the text, or of the documents, used for validation."""
    test_share: float = Field(0.05, gt=0, le=0.5)
    """Fraction of the text, or of the documents, used for testing."""
    vocabulary: Vocabulary = "characters"
    """Tokens of the text: characters, bytes of UTF-8, or subwords (SentencePiece)."""
    vocabulary_size: int = Field(8000, ge=300, le=256_000)
    """Subwords, special tokens and 256 bytes included; most characters of a vocabulary of characters."""
    vocabulary_from: Literal["train", "all"] = "train"
    """Text that the vocabulary is made from: that of training, or all, as in the released code of Nawrot et al. (2023).
    """
    tokenizer: Path | None = None
    """Run folder whose vocabulary is used instead."""
    subwords: int = Field(0, ge=0, le=1_000_000)
    """Unigram subwords of words that teach `unigram` boundaries, for characters and bytes; 0: none."""
    prepared: Path | None = None
    """Folder of the prepared data; by default the folder in `prepared/` that was made from the same text with the same
    settings, else `prepared/` and the name of the recipe. Other data there is kept, and new data goes beside it."""
    verify: bool = False
    """Whether to hash all prepared data before it is read; otherwise a file is hashed once on a machine, and again when
    its size, times or inode change."""

    @model_validator(mode="after")
    def _require_consistency(self) -> Self:
        if self.prepared is not None and not self.prepared.name.strip("."):
            raise ValueError(f"prepared must be a folder of its own, such as prepared/text, got {self.prepared}")
        if self.subwords and self.vocabulary == "subwords":
            raise ValueError(f"subwords must be 0 where vocabulary is subwords, got {self.subwords}")
        return self

    def require_source(self) -> TextSourceConfig:
        """Return the source."""
        return self.source

    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on; the tokenizer is described by its content."""
        unused = {"max_bytes", "max_ratio"}
        source = self.source.model_dump(mode="json", exclude=unused)
        settings = self.model_dump(mode="json", exclude={"source", "tokenizer", "prepared", "verify"})
        return {"task": "language_modeling", "source": source, **settings}
