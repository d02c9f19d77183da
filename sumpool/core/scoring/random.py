"""Random scorer (Pietruszka et al., appendix A): scores drawn from the uniform distribution.

Baseline for learned scorers, without parameters. In training every forward pass draws from torch's generator. In
evaluation the score is a hash of the token's index in its document: uniform, but independent of padding, batch mates
and earlier runs.
"""

from typing import Literal, final

import torch
from torch import Tensor

from sumpool.core.nn.numerics import at_least_float32, hash_uniform
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class RandomScorerConfig(ScorerConfig):
    """The random scorer has no settings."""

    kind: Literal["random"] = "random"

    def build(self, dim: int) -> "RandomScorer":
        """Build the scorer."""
        del dim
        return RandomScorer()


@final
class RandomScorer(Scorer):
    """Score uniformly at random."""

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in [0, 1)."""
        like = at_least_float32(tokens.states[..., 0])
        if self.training:
            return torch.rand_like(like)
        return hash_uniform(tokens.indices).to(like.dtype)
