"""Random scorer (Pietruszka et al., appendix A): scores drawn from the uniform distribution.

The baseline that every learned scorer must beat. In training each pass draws anew from torch's generator. In
evaluation the score is a fixed hash of the vector's number in its document, which is as good as a draw and leaves no
room for chance: neither padding nor batch mates nor a second run change a summary. No parameters.
"""

from typing import Literal, final

import torch
from torch import Tensor

from sumpool.core.nn.numerics import at_least_float32, hash_uniform
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class RandomScorerConfig(ScorerConfig):
    """No settings."""

    kind: Literal["random"] = "random"

    def build(self, dim: int) -> "RandomScorer":
        """Build the scorer."""
        del dim
        return RandomScorer()


@final
class RandomScorer(Scorer):
    """Scores a vector by chance."""

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length, dim) as (batch, length), in [0, 1)."""
        like = at_least_float32(tokens.states[..., 0])
        if self.training:
            return torch.rand_like(like)
        return hash_uniform(tokens.indices).to(like.dtype)
