"""Skeinformer attention (Chen et al., 2022): few columns of the softmax weights, sampled by importance.

Exact attention of `samples` pilot queries estimates how much each key matters, as the root of its squared weights times
the norm of its value; as many keys are sampled accordingly. Adaptive row normalisation gives all other keys the
geometric mean of the sampled weights, so that every value takes part, and the pilot queries keep their exact outputs:
O(length * samples * dim). It is full attention once `samples` reaches the length.

The settings are the switches of the paper's ablation. Departures from the released code: the number of samples depends
on the document only (code: on the shortest one in the batch); exponents are taken of differences from the maximum;
pilot queries are distinct (code: drawn with replacement); draws are fixed by the seed and the document unless `redraw`
is set (code: new at every call).
"""

import math
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.nn.layers import merge_heads
from sumpool.core.nn.low_rank import fill_rows, sample_tokens, step_seed, take_rows, token_draws
from sumpool.core.nn.masking import MAX_WEIGHTS, attention_weights
from sumpool.core.nn.numerics import at_least_float32, matmul_exactly
from sumpool.core.tokens import Tokens


@final
class SkeinformerAttentionConfig(AttentionConfig):
    """Settings of Skeinformer attention."""

    kind: Literal["skeinformer"] = "skeinformer"
    samples: int = Field(256, ge=1, le=65_536)
    """Pilot queries, and sampled keys; at most the tokens of a document."""
    sampling: Literal["importance", "uniform"] = "importance"
    """Probability of a key: its importance for the pilot queries and the norm of its value, or the same for all."""
    row_normalization: Literal["adaptive", "simple", "none", "unweighted"] = "adaptive"
    """Divisor of the weights: adaptive, their sum with the geometric mean in place of keys not sampled; simple, their
    sum; none, that of full attention, in quadratic time, with keys drawn with replacement and weights divided by their
    expected number of draws, as in the paper; unweighted, the same with distinct keys and no such divisor, as in the
    released code."""
    reuse_pilot: bool = True
    """Whether pilot queries keep their exact outputs."""
    redraw: bool = False
    """Whether each training step draws anew; summaries always use the draws of the seed."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Seed of the draws."""


@final
class SkeinformerAttention(Attention):
    """Self-attention to sampled keys, the same in each document for all queries of a head."""

    config: SkeinformerAttentionConfig

    def _mix(self, tokens: Tokens) -> Tensor:
        mask, (query, key, value) = tokens.mask, self._project(tokens)
        dtype = value.dtype
        value = at_least_float32(value).masked_fill(~mask[:, None, :, None], 0.0)
        seed = step_seed(self.config.seed, self.config.redraw and self.training)
        # Pilot queries, (batch, heads, samples), and their exact weights, (batch, heads, samples, length).
        pilot, is_pilot = sample_tokens(mask, self.config.samples, seed, 0)
        pilot = pilot[:, None].expand(-1, self.heads, -1)
        is_pilot = is_pilot[:, None].expand_as(pilot)
        exact: Tensor | None = None
        if self.config.sampling == "importance" or self.config.reuse_pilot:
            exact = attention_weights(take_rows(query, pilot), key, mask).masked_fill(~is_pilot[..., None], 0.0)
        index, is_drawn, expected = self._draw(exact, value, mask, seed)
        weights, rest = self._weights(query, key, mask, index, is_drawn, expected)
        drawn = take_rows(value, index).masked_fill(~is_drawn[..., None], 0.0)  # (batch, heads, samples, head_dim)
        others = value.sum(2, keepdim=True) - drawn.sum(2, keepdim=True)
        mixed = matmul_exactly(weights, drawn) + rest * others
        if self.config.reuse_pilot:
            assert exact is not None
            mixed = fill_rows(mixed, pilot, is_pilot, matmul_exactly(exact, value))
        return merge_heads(mixed.to(dtype))

    @torch.no_grad()
    def _draw(self, exact: Tensor | None, value: Tensor, mask: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """Draw keys by their importance, or uniformly.

        Returns:
            Indices of keys, True at draws that the document has, and how often each of these keys is expected to be
            drawn, which is 1 for keys drawn without replacement; (batch, heads, samples) each.
        """
        real = mask[:, None].expand(-1, self.heads, -1).double()
        if self.config.sampling == "uniform" or exact is None:
            importance = real
        else:
            importance = exact.double().square().sum(2).sqrt() * value.double().norm(dim=3)
            importance = importance.clamp(min=torch.finfo(torch.float32).tiny) * real
        probability = importance / importance.sum(2, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
        size = min(self.config.samples, mask.size(1))
        is_drawn = (torch.arange(size, device=mask.device) < mask.sum(1, keepdim=True))[:, None]
        is_drawn = is_drawn.expand(-1, self.heads, -1)
        draws = torch.stack([token_draws(mask, seed, 3 + head) for head in range(self.heads)], dim=1)
        if self.config.row_normalization == "none":  # with replacement, by the inverse of the distribution function
            index = torch.searchsorted(probability.cumsum(2), draws[..., :size].contiguous()).clamp(
                max=mask.size(1) - 1
            )
            number = is_drawn.sum(2, keepdim=True)
            return index, is_drawn, number * probability.gather(2, index)
        # Keys with the largest log-probabilities plus Gumbel noise are draws without replacement.
        order = (probability.log() - (-draws.clamp(min=1e-12).log()).log()).masked_fill(~mask[:, None], -math.inf)
        index = order.argsort(dim=2, descending=True, stable=True)[..., :size]
        return index, is_drawn, torch.ones_like(index, dtype=torch.float64)

    def _weights(
        self, query: Tensor, key: Tensor, mask: Tensor, index: Tensor, is_drawn: Tensor, expected: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Weights of drawn keys (batch, heads, length, samples), and of each other key (batch, heads, length, 1)."""
        query, key = at_least_float32(query) * query.size(3) ** -0.5, at_least_float32(key)
        scores = matmul_exactly(query, take_rows(key, index).mT)
        absent = ~is_drawn[:, :, None]  # (batch, heads, 1, samples)
        if self.config.row_normalization in ("none", "unweighted"):
            weights = (scores - _log_sums(query, key, mask)).masked_fill(absent, -math.inf).exp()
            weights = weights / expected[:, :, None].to(scores.dtype).clamp(min=torch.finfo(scores.dtype).tiny)
            return weights, scores.new_zeros(()).expand(*scores.shape[:3], 1)
        lowest = torch.finfo(scores.dtype).min
        largest = scores.detach().masked_fill(absent, lowest).amax(3, keepdim=True)
        scores = (scores - largest).masked_fill(absent, 0.0)
        weights = scores.exp().masked_fill(absent, 0.0)
        sums = weights.sum(3, keepdim=True)
        number = is_drawn.sum(2)[..., None, None]
        if self.config.row_normalization == "simple":
            return weights / sums.masked_fill(number == 0, 1.0), torch.zeros_like(sums)
        mean = (scores.sum(3, keepdim=True) / number.clamp(min=1)).exp()  # geometric
        sums = sums + (mask.sum(1)[:, None, None, None] - number) * mean
        sums = sums.masked_fill(number == 0, 1.0)
        return weights / sums, mean / sums


def _log_sums(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """Logarithm of the row sums of full attention, (batch, heads, length, 1), in chunks of queries."""
    batch, heads, length, _ = query.shape
    step = max(1, MAX_WEIGHTS // max(1, batch * heads * length))

    def log_sums(part: Tensor) -> Tensor:
        scores = matmul_exactly(part, key.mT)
        return scores.masked_fill(~mask[:, None, None], torch.finfo(scores.dtype).min).logsumexp(3, keepdim=True)

    parts = query.split(step, dim=2)
    return torch.cat([checkpoint(log_sums, part, use_reentrant=False, preserve_rng_state=False) for part in parts], 2)
