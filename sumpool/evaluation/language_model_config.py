"""Evaluation settings of language models, the `evaluate` section of their recipes."""

from typing import Literal, Self

from pydantic import Field, model_validator

from sumpool.settings import Settings


class TextEvaluationConfig(Settings):
    """Windows of the evaluated text, and confidence intervals."""

    protocol: Literal["whole", "released"] = "whole"
    """Windows: `whole` predicts every token of the text but the first, `released` divides it into 16 streams, drops the
    remainder and stops after 500 windows of each, as the released code of Nawrot et al. does."""
    window: int = Field(2048, ge=2, le=10_000_000)
    """Tokens that a window reads."""
    step: int = Field(512, ge=1, le=10_000_000)
    """Tokens that a window predicts, those after its last ones; windows move by as many."""
    batch_tokens: int = Field(32_768, ge=1, le=1_000_000_000)
    """Tokens that are scored at once; a longer window is scored alone."""
    resamples: int = Field(1000, ge=100, le=100_000)
    """Resamples of the bootstrap over windows for 95 % intervals, and of the paired tests."""
    sample: int = Field(400, ge=0, le=100_000)
    """Tokens at the beginning of the text whose segments are shown."""

    @model_validator(mode="after")
    def _windows_overlap(self) -> Self:
        if self.step > self.window:
            raise ValueError(f"step must be at most window = {self.window}, got {self.step}")
        return self
