"""The network that learns where segments end (Nawrot et al., "Efficient Transformers with Dynamic Token Pooling")."""

from typing import final

from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.boundaries._base import document_mean
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.tokens import Tokens


@final
class Predictor(nn.Module):
    """Says of every token how likely a segment ends with it, from its vector alone: linear, GELU, linear."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, hidden)
        self.decide = nn.Linear(hidden, 1)

    def forward(self, tokens: Tokens) -> Tensor:
        """Give the logit of each token, (batch, length), finite everywhere; above 0 an end is likely."""
        hidden = F.gelu(self.widen(zero_padding(tokens.states, tokens.mask)))
        return at_least_float32(self.decide(hidden).squeeze(-1))


def taught(logits: Tensor, ends: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy of the logits against a teacher's ends, a scalar in nats per token.

    Args:
        logits: (batch, length), finite everywhere.
        ends: (batch, length), True where a segment shall end.
        mask: (batch, length), True at real tokens.
    """
    return document_mean(F.binary_cross_entropy_with_logits(logits, ends.to(logits.dtype), reduction="none"), mask)
