"""Learned boundary predictor (Nawrot et al., "Efficient Transformers with Dynamic Token Pooling")."""

from typing import final

from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.boundaries._base import document_mean
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens


@final
class Predictor(nn.Module):
    """Logit of a segment end for each token, from its state alone: linear, GELU, linear."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, hidden)
        self.decide = nn.Linear(hidden, 1)

    def forward(self, tokens: Tokens) -> Tensor:
        """Logits (batch, length), finite everywhere; positive where an end is more likely than not."""
        hidden = F.gelu(self.widen(zero_padding(tokens.states, tokens.mask)))
        return at_least_float32(self.decide(hidden).squeeze(-1))


def boundary_loss(logits: Tensor, ends: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy of the logits against target ends, a scalar in nats per token.

    Args:
        logits: (batch, length), finite everywhere.
        ends: (batch, length), True at the target ends.
        mask: (batch, length), True at real tokens.
    """
    return document_mean(F.binary_cross_entropy_with_logits(logits, ends.to(logits.dtype), reduction="none"), mask)
