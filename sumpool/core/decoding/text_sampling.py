"""Sampling of the next token of a text.

Tokens are drawn from the model's distribution at a temperature, restricted to the k most probable ones (Fan et al.,
2018), or to the most probable ones that together reach a probability p (nucleus sampling; Holtzman et al., 2020).
"""

from pydantic import Field
from torch import Tensor

from sumpool.settings import Settings


class TextSampling(Settings):
    """Settings of the generation of text."""

    length: int = Field(500, ge=1, le=10_000_000)
    """Tokens to generate; characters, for a vocabulary of characters."""
    temperature: float = Field(1.0, ge=0, le=100)
    """Temperature; 1 samples from the model's distribution, less sharpens it, and 0 takes the most probable token."""
    top_k: int = Field(0, ge=0, le=10_000_000)
    """Most probable tokens that are drawn from; 0 takes all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Probability that the most probable tokens, which are drawn from, reach together; 1 takes all."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of the random numbers."""


def draw_token(logits: Tensor, sampling: TextSampling, draw: float) -> int:
    """Draw a token by a uniform random number in [0, 1).

    Args:
        logits: (vocab,); minus infinity at tokens that are not drawn.
        sampling: Settings.
        draw: The random number: the token is drawn at which the cumulative distribution, the most probable token
            first, exceeds it.

    Raises:
        ValueError: If a logit is NaN.
    """
    if logits.isnan().any():
        raise ValueError("model must return logits, got NaN")
    if not sampling.temperature:
        return int(logits.argmax())
    ordered, tokens = logits.sort(descending=True, stable=True)
    probabilities = (ordered / sampling.temperature).softmax(0)
    if sampling.top_k:
        probabilities[sampling.top_k :] = 0.0
    sums = probabilities.cumsum(0)
    kept = int((sums < sampling.top_p * sums[-1]).sum()) + 1  # the token that reaches p is kept
    place = int((sums[:kept] <= draw * sums[kept - 1 : kept]).sum())
    return int(tokens[min(place, kept - 1)])
