"""Causal attention with the relative positions of Transformer-XL, in memory linear in the length.

The score of query i and key j is ((q_i + u) k_j + (q_i + v) r_(i-j)) / sqrt(head_dim) (Dai et al., 2019,
arXiv:1901.02860, section 3.3), with learned biases u, v of each head and r a projected sinusoid of the distance.
Queries are processed in ranges, against the keys up to the last of the range only: half the products of a full matrix,
and no matrix of length x length is stored. The backward pass computes the weights again. The relative shift is a view.
"""

import math
from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor

from sumpool.core.nn.numerics import at_least_float32

MAX_SCORES = 2**20
"""Attention scores in memory at a time, over heads, batch, queries and keys: 4 MB in float32, which fits a cache."""
MIN_QUERIES = 64
_DRAWS = 2**16
"""Different draws for dropout, whose probability is rounded to a multiple of 1 / 2^16."""


def causal_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    relative: tuple[Tensor, Tensor, Tensor] | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Attention of each position to itself and those before it.

    Args:
        query: (heads, batch, length, head_dim).
        key: Like `query`.
        value: Like `query`, finite everywhere.
        relative: Biases u and v, both (heads, head_dim), and projected distances 0, 1, ..., (heads, length, head_dim);
            None without relative positions.
        dropout: Probability to drop an attention weight; the draw depends on torch's CPU generator only.

    Returns:
        (heads, batch, length, head_dim).
    """
    scale = query.size(3) ** -0.5
    seed = int(torch.randint(2**31, ()).item()) if dropout else 0
    query = query * scale
    value = value / (1 - round(dropout * _DRAWS) / _DRAWS)
    parts: tuple[Tensor | None, ...] = (None, None, None)
    if relative is not None:
        content, position, distances = (part.to(query.dtype) for part in relative)
        parts = (content[:, None, None] * scale, position[:, None, None] * scale, distances)
    output: Tensor = _CausalAttention.apply(query, key, value, *parts, dropout, seed)  # type: ignore[no-untyped-call]
    return output


@final
class _Range:
    """Weights of a range of queries over the keys up to its last."""

    def __init__(self, inputs: Sequence[Any], part: slice, dropout: float, seed: int) -> None:
        query, key, value, content, position, distances = inputs  # tensors; None for the last three without positions
        self.part, self.keys, self.dropout, self.seed = part, part.stop, dropout, seed
        self.key, self.value = key[:, :, : part.stop], value[:, :, : part.stop]
        self.content = query[:, :, part] if content is None else query[:, :, part] + content
        self.position = None if position is None else query[:, :, part] + position  # (heads, batch, queries, head_dim)
        # Column c of the unshifted scores belongs to the distance keys - 1 - c.
        self.distances = None if distances is None else distances[:, : part.stop].flip(1)  # (heads, keys, head_dim)

    def scores(self) -> Tensor:
        """Return masked scores (heads, batch, queries, keys), in at least single precision."""
        scores = self.content @ self.key.transpose(2, 3)
        batch, queries = scores.shape[1:3]
        if self.position is not None and self.distances is not None:
            unshifted = self.position.flatten(1, 2) @ self.distances.transpose(1, 2)  # (heads, batch * queries, keys)
            strides = (batch * queries * self.keys, queries * self.keys, max(self.keys - 1, 1), 1)
            scores += unshifted.as_strided(scores.shape, strides, queries - 1)
        scores = at_least_float32(scores)
        later = torch.ones(queries, queries, dtype=torch.bool, device=scores.device).triu(1)
        scores[..., self.keys - queries :].masked_fill_(later, -math.inf)
        return scores

    def unshift(self, gradient: Tensor) -> Tensor:
        """Undo the shift of a gradient that is 0 where masked, to (heads, batch * queries, keys)."""
        heads, batch, queries, keys = gradient.shape
        flat = gradient.new_zeros(heads, batch, queries * keys)
        flat[..., queries - 1 : -1] = gradient[..., :-1].flatten(2)
        flat[..., -1] = gradient[..., -1, -1]
        return flat.view(heads, batch * queries, keys)

    def dropped(self, shape: torch.Size) -> Tensor:
        """Draw the weights to drop, True there; the same in the backward pass.

        A draw has 16 bits, four to a random number: 8 times as fast as a Bernoulli draw of torch on a CPU.
        """
        generator = torch.Generator(self.value.device).manual_seed(self.seed + self.part.start)
        numbers = torch.empty((shape.numel() + 3) // 4, dtype=torch.int64, device=self.value.device)
        draws = numbers.random_(torch.iinfo(torch.int64).min, None, generator=generator).view(torch.int16)
        threshold = round(self.dropout * _DRAWS) - _DRAWS // 2  # draws are signed
        return (draws[: shape.numel()] < threshold).view(shape)


def _ranges(query: Tensor) -> list[slice]:
    """Divide the queries, by the number of scores."""
    heads, batch, length, _ = query.shape
    size = max(MIN_QUERIES, MAX_SCORES // max(1, heads * batch * length))
    return [slice(first, min(first + size, length)) for first in range(0, length, size)]


class _CausalAttention(torch.autograd.Function):
    """Scaled queries, keys, values, scaled biases of contents and of positions, distances -> mixed values."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:  # noqa: ANN401 - tensors, None and numbers
        """Store the output and the logarithm of the sum of exponentials of each query."""
        *inputs, dropout, seed = arguments
        query = inputs[0]
        heads, batch, length, features = query.shape
        merged = query.new_empty(batch, length, heads, features)
        output: Tensor = merged.permute(2, 0, 1, 3)  # so that heads merge without a copy
        norms = at_least_float32(query[..., 0]).clone()
        with torch.autocast(output.device.type, enabled=False):
            for part in _ranges(output):
                rows = _Range(inputs, part, dropout, seed)
                scores = rows.scores()
                norms[:, :, part] = norm = scores.logsumexp(3)
                weights = scores.sub_(norm[..., None]).exp_()
                if rows.dropout:
                    weights.masked_fill_(rows.dropped(weights.shape), 0.0)
                output[:, :, part] = weights.to(output.dtype) @ rows.value
        ctx.save_for_backward(*inputs, output, norms)
        ctx.dropout, ctx.seed = dropout, seed
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - a context of torch
        """Compute the weights again, range by range."""
        *inputs, output, norms = ctx.saved_tensors
        totals = [None if part is None else torch.zeros_like(at_least_float32(part)) for part in inputs]
        with torch.autocast(output.device.type, enabled=False):
            for part in _ranges(output):
                rows = _Range(inputs, part, ctx.dropout, ctx.seed)
                _backpropagate(rows, gradient[:, :, part], output[:, :, part], norms[:, :, part], totals)
        gradients = (None if total is None else total.to(output.dtype) for total in totals)
        return *gradients, None, None


def _backpropagate(rows: _Range, gradient: Tensor, output: Tensor, norms: Tensor, totals: Sequence[Any]) -> None:
    """Add the gradients of a range to `totals`, in the order of the inputs."""
    queries, keys, values, contents, positions, distances = totals
    part, seen = rows.part, slice(rows.keys)
    weights = rows.scores().sub_(norms[..., None]).exp_()
    score_gradient = at_least_float32(gradient @ rows.value.transpose(2, 3))  # of the dropped weights, for now
    kept = weights
    if rows.dropout:
        dropped = rows.dropped(weights.shape)
        kept = weights.masked_fill(dropped, 0.0)
        score_gradient.masked_fill_(dropped, 0.0)
    values[:, :, seen] += kept.to(gradient.dtype).transpose(2, 3) @ gradient
    score_gradient -= at_least_float32(gradient * output).sum(3, keepdim=True)
    score_gradient = score_gradient.mul_(weights).to(gradient.dtype)
    queries[:, :, part] = content_gradient = score_gradient @ rows.key
    keys[:, :, seen] += score_gradient.transpose(2, 3) @ rows.content
    if rows.position is None or rows.distances is None:
        return
    unshifted = rows.unshift(score_gradient)
    position_gradient = (unshifted @ rows.distances).view(rows.position.shape)
    queries[:, :, part] += position_gradient
    contents += content_gradient.sum((1, 2), keepdim=True)
    positions += position_gradient.sum((1, 2), keepdim=True)
    distances[:, seen] += (unshifted.transpose(1, 2) @ rows.position.flatten(1, 2)).flip(1)
