"""Where documents come from and how they are prepared: the `data` section of a recipe."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from sumpool.data.sources._base import SourceConfig
from sumpool.settings import Settings
from sumpool.variants import OneOf


class DataConfig(Settings):
    """One set of documents with summaries."""

    source: Annotated[SourceConfig, OneOf("sumpool.data.sources")]
    """Where the documents and their summaries are."""
    prepared: Path | None = None
    """Folder of the prepared data; by default prepared/<name of the recipe>."""
    vocabulary: int = Field(8000, ge=300, le=256000)
    """Pieces of the vocabulary, the 256 bytes included."""
    workers: int = Field(2, ge=1)
    """Processes that prepare documents."""
