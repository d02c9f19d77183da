"""Mean of the values (the "V-Mean" baseline of Chen et al., 2022, "Skeinformer"): every weight is 1 / length.

Every token receives the mean of the values of its document, O(length * dim): attention without the information in its
weights. There are no queries and keys.
"""

from typing import Literal, final

from torch import Tensor

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.masking import zero_padding
from sumpool.core.tokens import Tokens


@final
class VMeanAttentionConfig(AttentionConfig):
    """The mean of the values has no settings."""

    kind: Literal["v_mean"] = "v_mean"


@final
class VMeanAttention(Attention):
    """Mean of the values of a document."""

    projections = 1

    def forward(self, tokens: Tokens) -> Tensor:
        """Average over whole documents; see `Attention.forward`."""
        values = zero_padding(self.project(tokens.states), tokens.mask)
        counts = tokens.mask.sum(1).clamp(min=1)[:, None, None]
        mean: Tensor = self.out(values.sum(1, keepdim=True) / counts)
        return mean.expand(-1, values.size(1), -1)
