"""Random selection (Manakul and Gales, 2021, Table 2): the baseline of all selections.

In training each pass draws from torch's generator. In evaluation the score of a sentence is a sine of the input of the
cross-attention along a direction that is a fixed hash of the sentence's index: pseudo-random for every layer, step and
hypothesis, and independent of padding, batch mates and run. No parameters.

Departure from the released code, which also draws in evaluation, from an unseeded generator.
"""

from typing import Literal, final

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32, hash_uniform
from sumpool.core.nn.sentences import Sentences, sentence_log_softmax
from sumpool.core.selection._base import Selection, SelectionConfig

_FREQUENCY = 8.0
"""High enough that states a fifth of their norm apart select independently; low enough to be robust to rounding."""


@final
class RandomSelectionConfig(SelectionConfig):
    """No settings."""

    kind: Literal["random"] = "random"

    def build(self, dim: int, heads: int) -> "RandomSelection":
        """Build the selection."""
        return RandomSelection(dim, heads)


@final
class RandomSelection(Selection):
    """Random scores, the same for all heads."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.dim = dim
        self.heads = heads

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Keep the sentence mask."""
        del key, mask, vectors
        return {"exists": sentences.mask}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences."""
        del query
        states, exists = at_least_float32(states), precomputed["exists"]
        if self.training:
            scores = torch.rand(*states.shape[:2], exists.size(1), dtype=states.dtype, device=states.device)
        else:
            with torch.autocast(states.device.type, enabled=False):
                scores = self._sine_scores(states, exists.size(1))
        scores = scores[:, None].expand(-1, self.heads, -1, -1)  # (batch, heads, target, sentences)
        return sentence_log_softmax(scores, exists)

    def _sine_scores(self, states: Tensor, sentences: int) -> Tensor:
        """Scores along directions that depend only on the sentence index: (batch, target, sentences)."""
        indices = torch.arange(sentences * self.dim, device=states.device).view(sentences, self.dim)
        directions = (hash_uniform(indices).to(states.dtype) - 0.5) * 12**0.5  # of variance 1
        return torch.sin(_FREQUENCY * F.normalize(states, dim=-1) @ directions.T)
