"""What is measured: the `bench` section of a recipe."""

from typing import Annotated

from pydantic import Field

from sumpool.settings import Settings


class BenchConfig(Settings):
    """Lengths, repetitions and sizes of a benchmark."""

    lengths: tuple[Annotated[int, Field(ge=1)], ...] = Field((1024, 2048, 4096, 8192), min_length=1)
    """Source tokens."""
    batch: int = Field(1, ge=1)
    """Documents at once."""
    beams: int = Field(2, ge=1)
    """Hypotheses of the generation."""
    generate: int = Field(64, ge=1)
    """Tokens that every generation writes, no fewer and no more."""
    target: int = Field(128, ge=1)
    """Summary tokens of a training step."""
    repeats: int = Field(5, ge=1)
    """Measured repetitions after one that is not counted."""
