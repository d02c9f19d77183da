"""Weights for another vocabulary: a token begins as the mean of the tokens that it consisted of.

So a model keeps what it has learnt about words when it goes on with a vocabulary of another domain (fast vocabulary
transfer: Gee et al., 2022, arXiv:2402.09977).
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.text.tokenizer import Tokenizer


def transfer_vocabulary(
    saved: Mapping[str, Tensor], expected: Mapping[str, Tensor], old: Tokenizer, new: Tokenizer
) -> dict[str, Tensor]:
    """Replace the embeddings of a vocabulary, and other weights with a row for each token, by those of another.

    Args:
        saved: Weights by name, of a model with the old vocabulary.
        expected: Weights of the model with the new vocabulary, which say how many rows a weight has.
        old: Tokenizer of the old vocabulary.
        new: Tokenizer of the new vocabulary.

    Returns:
        The weights by name; rows of the new vocabulary are means of rows of the old one, of all where a token has none
        of their bytes.
    """
    constituents = token_constituents(old, new)
    return {
        name: _mean_rows(weight, constituents)
        if weight.shape[:1] == (old.vocab_size,) and name in expected and len(expected[name]) == new.vocab_size
        else weight
        for name, weight in saved.items()
    }


def token_constituents(old: Tokenizer, new: Tokenizer) -> list[list[int]]:
    """Return the old tokens of each new token: of the same role or the same bytes, or the longest that follow another.

    A token without any is empty.
    """
    ids: dict[bytes, int] = {}
    for token, content in enumerate(old.token_bytes()):
        if content:
            ids.setdefault(content, token)
    roles = dict(zip(_roles(new), _roles(old), strict=False))
    return [
        [roles[token]] if token in roles else _divide(content, ids) for token, content in enumerate(new.token_bytes())
    ]


def _roles(tokenizer: Tokenizer) -> tuple[int, ...]:
    special = tokenizer.special_tokens
    return special.pad, special.eos, special.decoder_start, *special.suppressed


def _divide(content: bytes, ids: Mapping[bytes, int]) -> list[int]:
    """Divide the bytes of a token into the longest known ones, from its start; unknown bytes are left out."""
    constituents: list[int] = []
    start = 0
    while start < len(content):
        ends = range(len(content), start, -1)
        end = next((end for end in ends if content[start:end] in ids), None)
        if end is not None:
            constituents.append(ids[content[start:end]])
        start = end or start + 1
    return constituents


def _mean_rows(weight: Tensor, constituents: Sequence[Sequence[int]]) -> Tensor:
    rows = weight.double().flatten(1) if weight.ndim > 1 else weight.double()[:, None]
    offsets = torch.tensor([0, *accumulate(map(len, constituents))][:-1])
    means = F.embedding_bag(
        torch.tensor([*chain.from_iterable(constituents)], dtype=torch.long), rows, offsets, mode="mean"
    )
    is_empty = torch.tensor([not bag for bag in constituents])
    means = torch.where(is_empty[:, None], rows.mean(0), means)
    return means.reshape(len(constituents), *weight.shape[1:]).to(weight.dtype)
