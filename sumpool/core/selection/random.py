"""Random selection (Manakul and Gales, 2021, Table 2): the baseline that every other selection must beat.

In training each pass draws anew from torch's generator. In evaluation the score of a sentence is a wave of what the
cross-attention is given, in a direction that is a fixed hash of the sentence's number: as good as a draw for every
layer, step and hypothesis, and the same whatever the padding, the batch mates or the run. No parameters.

Departure from the released code, which draws anew in evaluation too, from a generator that nobody seeds.
"""

from typing import Literal, final

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32, hash_uniform
from sumpool.core.nn.sentences import Sentences, share_out
from sumpool.core.selection._base import Selection, SelectionConfig

_FREQUENCY = 8.0
"""Waves so short that states a fifth of their length apart choose apart, and so long that rounding changes nothing."""


@final
class RandomSelectionConfig(SelectionConfig):
    """No settings."""

    kind: Literal["random"] = "random"

    def build(self, dim: int, heads: int) -> "RandomSelection":
        """Build it."""
        return RandomSelection(dim, heads)


@final
class RandomSelection(Selection):
    """Chooses by chance, the same for all heads."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.dim = dim
        self.heads = heads

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Keep which sentences there are."""
        del key, mask, vectors
        return {"exists": sentences.mask}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Share out; see `Selection.forward`."""
        del query
        states, exists = at_least_float32(states), precomputed["exists"]
        if self.training:
            scores = torch.rand(*states.shape[:2], exists.size(1), dtype=states.dtype, device=states.device)
        else:
            with torch.autocast(states.device.type, enabled=False):
                scores = self._waves(states, exists.size(1))
        scores = scores[:, None].expand(-1, self.heads, -1, -1)  # (batch, heads, target, sentences)
        return share_out(scores, exists)

    def _waves(self, states: Tensor, sentences: int) -> Tensor:
        """Score by directions that depend on nothing but the number of a sentence: (batch, target, sentences)."""
        numbers = torch.arange(sentences * self.dim, device=states.device).view(sentences, self.dim)
        directions = (hash_uniform(numbers).to(states.dtype) - 0.5) * 12**0.5  # of variance 1
        return torch.sin(_FREQUENCY * F.normalize(states, dim=-1) @ directions.T)
