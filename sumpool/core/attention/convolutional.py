"""Convolutional attention (paper 5 in docs/variants.md; after Liu et al., 2018): attention between phrases.

A convolution groups neighbouring tokens into phrases, `stride` times fewer; these attend to each other, and a
transposed convolution distributes the result to the tokens again: O((length / stride)^2 * dim), and
O(length * kernel * dim^2 / stride) for the convolutions. With `per_head: false` one convolution precedes the
projections of all heads; with `per_head: true` each head has its own for its queries, keys and values, and its own
transposed convolution. With `radius`, phrases attend to their neighbours only, the combination of both ideas of
paper 5 that it leaves to future work: O(length * radius * dim / stride) instead of the first term.

The paper has no code and does not mention padding: states of padding are zeros here, as those beyond the end of a
document are, so that they enter no phrase, and phrases of padding only are hidden.
"""

from dataclasses import replace
from typing import Literal, Self, final

from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.attention._base import AttentionConfig, BandAttention
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import attend, zero_padding
from sumpool.core.tokens import Tokens


@final
class ConvolutionalAttentionConfig(AttentionConfig):
    """Settings of convolutional attention."""

    kind: Literal["convolutional"] = "convolutional"
    kernel: int = Field(3, ge=1, le=1024)
    """Tokens of a phrase; at least `stride`."""
    stride: int = Field(3, ge=1, le=1024)
    """Tokens between the beginnings of two successive phrases."""
    per_head: bool = False
    """Whether each head has convolutions of its own, after the projections; else one convolution precedes them."""
    radius: int | None = Field(None, ge=1, le=5_000_000)
    """Phrases on either side that a phrase attends to, as in `neighborhood`; null for all."""

    @model_validator(mode="after")
    def _check_kernel(self) -> Self:
        if self.kernel < self.stride:
            raise ValueError(
                f"kernel must be at least stride = {self.stride}, got {self.kernel}; no token may be skipped"
            )
        return self


@final
class ConvolutionalAttention(BandAttention):
    """Self-attention between phrases."""

    def __init__(self, config: ConvolutionalAttentionConfig, dim: int, heads: int) -> None:
        super().__init__(config, dim, heads, config.radius or 0)
        self.kernel, self.stride, self.per_head = config.kernel, config.stride, config.per_head
        width, groups = (3 * dim, heads) if config.per_head else (dim, 1)
        self.convolve = nn.Conv1d(width, width, config.kernel, config.stride, groups=groups * width // dim)
        self.distribute = nn.ConvTranspose1d(dim, dim, config.kernel, config.stride, groups=groups)

    def _mix(self, tokens: Tokens) -> Tensor:
        real = tokens.mask[:, :: self.stride]  # (batch, phrases)
        if self.per_head:
            convolved = self._convolve(self.project(tokens.states), tokens.mask).chunk(3, dim=-1)
            query, key, value = (
                split_heads(part, self.heads) for part in convolved
            )  # (batch, heads, phrases, head_dim)
        else:
            query, key, value = self._project(tokens.with_states(self._convolve(tokens.states, tokens.mask)))
        if self.reach:
            lengths = tokens.lengths and [-(-length // self.stride) for length in tokens.lengths]
            phrases = replace(tokens, mask=real, positions=tokens.positions[:, :: self.stride], lengths=lengths)
            mixed = self._attend_in_windows(query, key, value, phrases)
        else:
            mixed = merge_heads(attend(query, key, value, real))  # (batch, phrases, dim)
        distributed: Tensor = self.distribute(zero_padding(mixed, real).mT).mT  # (batch, at least length, dim)
        return distributed[:, : tokens.states.size(1)].contiguous()

    def _convolve(self, values: Tensor, mask: Tensor) -> Tensor:
        """Convolve (batch, length, width), padded with zeros: (batch, phrases, width)."""
        phrases = -(-values.size(1) // self.stride)
        rest = (phrases - 1) * self.stride + self.kernel - values.size(1)
        convolved: Tensor = self.convolve(F.pad(zero_padding(values, mask), (0, 0, 0, rest)).mT).mT
        return convolved.contiguous()
