"""A sliding window and learned global tokens, a memory through which all tokens of a document communicate.

Each head has `tokens` learned queries that attend to the whole document; every token attends to its window and to what
they have read, in one softmax: O(length * (window + tokens) * dim). The memory is that of Luna (Ma et al., 2021; pack
and unpack attention), with a window as in ETC (Ainslie et al., 2020).

Departures from Luna: the weights of the queries that read the document mix its keys and its values, which are projected
once, so that every token receives a weighted mean of the document's values; the queries are those of a layer, and what
they have read is not passed to the next one. Global tokens of the document itself are those of `longformer`.
"""

from dataclasses import replace
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._base import AttentionConfig, BandAttention, Window
from sumpool.core.nn.masking import attention_weights
from sumpool.core.nn.numerics import matmul_exactly
from sumpool.core.tokens import Tokens


@final
class GlobalTokensAttentionConfig(AttentionConfig):
    """Settings of a window with learned global tokens."""

    kind: Literal["global_tokens"] = "global_tokens"
    tokens: int = Field(16, ge=1, le=65_536)
    """Learned global tokens."""
    window: Window = 512
    """Positions visible to a token beside its own, half of them on either side; even."""


@final
class GlobalTokensAttention(BandAttention):
    """Self-attention within a window, and to learned queries that attend to the document."""

    def __init__(self, config: GlobalTokensAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads, config.window // 2, first=config.tokens)
        self.memory = nn.Parameter(torch.empty(heads, config.tokens, dim // heads))
        nn.init.normal_(self.memory)

    def _mix(self, tokens: Tokens) -> Tensor:
        query, key, value = self._project(tokens)
        count = self.first_tokens
        reading = attention_weights(self.memory.to(key.dtype).expand(len(key), -1, -1, -1), key, tokens.mask)
        query = F.pad(query, (0, 0, count, 0))
        key, value = (torch.cat([matmul_exactly(reading, part).to(part.dtype), part], dim=2) for part in (key, value))
        mask, positions = F.pad(tokens.mask, (count, 0), value=True), F.pad(tokens.positions, (count, 0))
        lengths = tokens.lengths and [count + length for length in tokens.lengths]
        both = replace(tokens, mask=mask, positions=positions, lengths=lengths)
        return self._attend_in_windows(query, key, value, both)[:, count:]
