"""Linear attention (Katharopoulos et al., 2020): the features of queries and keys are elu(x) + 1.

The weights elu(q) + 1 times elu(k) + 1, divided by their sum over the keys, replace the softmax:
O(length * dim^2 / heads). As in the paper, products are not divided by the square root of head_dim. Padding is masked.
"""

from typing import Literal, final

from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention._base import AttentionConfig, KernelAttention


@final
class LinearAttentionConfig(AttentionConfig):
    """Linear attention has no settings."""

    kind: Literal["linear"] = "linear"


@final
class LinearAttention(KernelAttention):
    """Linear attention with the features elu(x) + 1."""

    def _feature_map(self, query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        del mask
        return F.elu(query) + 1, F.elu(key) + 1
