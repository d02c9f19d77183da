"""Hard top-k: the best-scored vectors stay as they are, the others are gone.

The baseline of Pietruszka et al. (appendix B.1) and, with the scorer attention_mass, the extraction of PoWER-BERT
(Goyal et al., 2020). Selection has no gradient, so that the papers' scorer never learns; `straight_through` gives it
one, as if every survivor had been multiplied by its score and divided by what the score is. Costs one sort of scalars.

Departures from PoWER's released code: the first token is not kept by force, and padding is never picked.
"""

from typing import Annotated, Literal, final

import torch
from torch import Tensor, nn

from sumpool.core.nn.mixture import Mixture
from sumpool.core.nn.states import EagerStates, States
from sumpool.core.pooling._base import Keep, Pooled, Pooler, PoolerConfig, best, leave, most_kept, unchanged
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.scoring.linear import LinearScorerConfig
from sumpool.core.tokens import Tokens
from sumpool.variants import OneOf


@final
class HardPoolerConfig(PoolerConfig):
    """Settings of hard top-k."""

    kind: Literal["hard"] = "hard"
    keep: Keep = 512
    """Vectors that stay: a number, or a share of each document's own."""
    scorer: Annotated[ScorerConfig, OneOf("sumpool.core.scoring")] = LinearScorerConfig()
    """What a vector is worth."""
    gradient: Literal["none", "straight_through"] = "straight_through"
    """What reaches the scorer: nothing (the papers' baseline), or what multiplying by the score would send."""

    def build(self, embedding: nn.Embedding) -> "HardPooler":
        """Build the pooler."""
        return HardPooler(self, self.scorer.build(embedding.embedding_dim))


@final
class HardPooler(Pooler):
    """Keeps the best vectors and drops the rest."""

    def __init__(self, config: HardPoolerConfig, scorer: Scorer) -> None:
        super().__init__()
        self.config = config
        self.scorer = scorer

    def forward(self, tokens: Tokens, vectors: States | None = None) -> Pooled:
        """Pool (batch, length, dim) to (batch, keep, dim); see `Pooler.forward`."""
        vectors, length = vectors or EagerStates(tokens), tokens.mask.size(1)
        if most_kept(self.config.keep, length) == length:
            return unchanged(vectors.all())
        learns = self.config.gradient == "straight_through"
        with torch.set_grad_enabled(learns and torch.is_grad_enabled()):
            scores = vectors.score(self.scorer)
        found, mask = best(scores, tokens.mask, self.config.keep)
        found = found.masked_fill(~mask, length).sort(dim=1).values.clamp(max=length - 1)  # in source order
        weights = mask.to(tokens.states.dtype)
        if learns:
            weights = weights * _one(scores.gather(1, found).masked_fill(~mask, 0.0)).to(weights.dtype)
        mixture = Mixture(found[..., None], weights[..., None], mask)
        return Pooled(leave(tokens, vectors.mix(mixture), mask, found), lambda: mixture)


def _one(scores: Tensor) -> Tensor:
    """Exactly 1, with the gradient of score / score.detach(), which a score of 0 would leave without a value."""
    fixed = scores.detach()
    return 1 + (scores - fixed) / fixed.clamp(min=torch.finfo(scores.dtype).eps)
