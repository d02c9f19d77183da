"""How summaries are written: the `summarize` section of a recipe."""

from typing import Literal

from pydantic import Field

from sumpool.settings import Settings


class DecodingConfig(Settings):
    """Beam search and the rules that a summary obeys."""

    beams: int = Field(4, ge=1, le=64)
    """Hypotheses per document; 1 is greedy search."""
    length_penalty: float = 1.0
    """Exponent p of the score sum(log p) / length ** p; above 1 favours long summaries, 0 is off."""
    min_length: int | Literal["auto"] = "auto"
    """Fewest tokens of a summary; auto takes it from the training summaries."""
    max_length: int | Literal["auto"] = "auto"
    """Most tokens of a summary, its end not counted; auto takes it from the training summaries."""
    no_repeat_words: int = Field(3, ge=0)
    """No run of this many words occurs twice in a summary; 0 is off."""
    batch_tokens: int = Field(32768, ge=1)
    """Source tokens that travel together, padding included."""
    on_overflow: Literal["truncate", "error", "window"] = "truncate"
    """What happens to a document longer than the model reads: its beginning is read, it is refused, or it is
    summarised window by window."""
