"""Attention weights as a product of two factors, and tokens that are drawn for them."""

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.nn.numerics import hash_uniform, indices_of_true


def column_sums(left: Tensor, right: Tensor, mask: Tensor, include_self: bool) -> Tensor:
    """Sum weights over the real queries without computing them, O(length * rank).

    Args:
        left: Factor of the queries, (batch, heads, length, rank), finite everywhere.
        right: Factor of the keys, (batch, heads, rank, length), finite everywhere.
        mask: (batch, length), True at real tokens.
        include_self: Whether the weight of a token on itself counts.

    Returns:
        (batch, heads, length), 0 at padding.
    """
    left = left.masked_fill(~mask[:, None, :, None], 0.0)
    left_sum = left.sum(2, keepdim=True)  # (batch, heads, 1, rank)
    received = (right.mT * (left_sum if include_self else left_sum - left)).sum(3)
    return received.masked_fill(~mask[:, None], 0.0)


def sample_tokens(mask: Tensor, count: int, seed: int, stream: int) -> tuple[Tensor, Tensor]:
    """Draw real tokens of each document uniformly, the same ones in every batch.

    Args:
        mask: (batch, length), True at real tokens.
        count: Number of draws, at most all tokens of a document.
        seed: Seed, less than 2**31.
        stream: Number of the draw among those of one seed, less than 1021.

    Returns:
        Indices (batch, draws), and True at draws that the document has, (batch, draws).
    """
    draws = token_draws(mask, seed, stream).masked_fill(~mask, 2.0)
    size = min(count, mask.size(1))
    return draws.topk(size, dim=1, largest=False).indices, torch.arange(size, device=mask.device) < mask.sum(
        1, keepdim=True
    )


def token_draws(mask: Tensor, seed: int, stream: int) -> Tensor:
    """Draw a number in [0, 1) for each real token; arguments as above.

    Returns:
        (batch, length), float64, distinct within a document; any value at padding.
    """
    return _draws((mask.cumsum(1) - 1).clamp(min=0), seed, stream)


def step_seed(seed: int, redraw: bool) -> int:
    """Return the seed, or with `redraw` a new one from the random generator of torch."""
    return int(torch.randint(2**31, (), device="cpu")) if redraw else seed


def _draws(numbers: Tensor, seed: int, stream: int) -> Tensor:
    """Distinct uniform draws in [0, 1), float64: of two equal hashes, the lower number comes first."""
    uniform: Tensor = hash_uniform((numbers * 1021 + stream) * 1031 + seed).double() + numbers / 2**50
    return uniform


def sample_keys_of_queries(mask: Tensor, count: int, seed: int) -> Tensor:
    """Draw real tokens for each place of each document uniformly, with replacement, the same ones in every batch.

    Args:
        mask: (batch, length), True at real tokens.
        count: Number of draws for each place.
        seed: Seed, less than 2**31.

    Returns:
        Indices (batch, length, count); 0 for documents without a real token.
    """
    rank = (mask.cumsum(1) - 1).clamp(min=0)[..., None]
    slots = torch.arange(count, device=mask.device)
    draws = _draws(rank + slots * 65_537, seed, 2)  # (batch, length, count)
    ranks = (draws * mask.sum(1)[:, None, None]).long()
    indices, _ = indices_of_true(mask, mask.size(1))
    return indices.gather(1, ranks.flatten(1)).view(ranks.shape)


def take_rows(states: Tensor, index: Tensor) -> Tensor:
    """Gather tokens of states (batch, heads, length, head_dim) at (batch, heads, rows): as many rows, head_dim each."""
    return states.gather(2, index[..., None].expand(-1, -1, -1, states.size(3)))


def fill_rows(states: Tensor, index: Tensor, is_row: Tensor, rows: Tensor) -> Tensor:
    """Replace some tokens.

    Args:
        states: (batch, heads, length, head_dim).
        index: (batch, heads, rows), distinct in each document.
        is_row: (batch, heads, rows), False at rows to ignore.
        rows: (batch, heads, rows, head_dim).

    Returns:
        (batch, heads, length, head_dim).
    """
    length = states.size(2)
    index = index.masked_fill(~is_row, length)[..., None].expand_as(rows)  # one row more takes those to ignore
    return F.pad(states, (0, 0, 0, 1)).scatter(2, index, rows.to(states.dtype))[:, :, :length]
