"""Hard top-k selection: the best-scored vectors are kept unchanged, the others are dropped.

The baseline of Pietruszka et al. (appendix B.1) and, with the scorer attention_mass, the extraction of PoWER-BERT
(Goyal et al., 2020). Selection has no gradient, so that the papers' scorer is never trained; `straight_through` gives
it the gradient of multiplying each kept vector by score / score.detach(). Cost: one sort of scalars.

Departures from PoWER-BERT's released code: the first token is not always kept, and padding is never selected.
"""

from typing import Literal, final

import torch
from torch import Tensor

from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import Pooled, ScoredPooler, ScoredPoolerConfig, keep_all, top_k
from sumpool.core.tokens import Tokens


@final
class HardPoolerConfig(ScoredPoolerConfig):
    """Settings of hard top-k selection."""

    kind: Literal["hard"] = "hard"
    gradient: Literal["none", "straight_through"] = "straight_through"
    """Gradient of the scorer: none (the papers' baseline), or straight_through, as if kept vectors were multiplied by
    their scores."""


@final
class HardPooler(ScoredPooler):
    """Hard top-k selection."""

    config: HardPoolerConfig

    def forward(self, tokens: Tokens) -> Pooled:
        """Pool (batch, length, dim) to (batch, keep, dim); see `Pooler.forward`."""
        tokens, length = tokens.zero_padded(), tokens.mask.size(1)
        if self._keeps_all(tokens):
            return keep_all(tokens)
        straight_through = self.config.gradient == "straight_through"
        with torch.set_grad_enabled(straight_through and torch.is_grad_enabled()):
            scores = self.scorer(tokens)
        indices, mask = top_k(scores, tokens.mask, self.config.keep)
        indices = indices.masked_fill(~mask, length).sort(dim=1).values.clamp(max=length - 1)  # in source order
        weights = mask.to(tokens.states.dtype)
        if straight_through:
            weights = weights * _one(scores.gather(1, indices).masked_fill(~mask, 0.0)).to(weights.dtype)
        mixture = Mixture(indices[..., None], weights[..., None], mask)
        return Pooled(self._pool(tokens, mixture.combine(tokens.states), mask, indices), lambda: mixture)


def _one(scores: Tensor) -> Tensor:
    """Exactly 1, with the gradient of score / score.detach(), finite even for a score of 0."""
    fixed = scores.detach()
    return 1 + (scores - fixed) / fixed.clamp(min=torch.finfo(scores.dtype).eps)
