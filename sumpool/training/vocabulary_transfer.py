"""Initialise the embeddings of a new vocabulary with the mean of each token's subtokens in the old one.

A model keeps what it has learnt about words when training continues with the vocabulary of another domain (fast
vocabulary transfer: Gee et al., 2022, arXiv:2402.09977).
"""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain

import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.text.tokenizer import Tokenizer

_TOKEN_ROWS = re.compile(r"(?:^|\.)(?:embedding|head|out)\.(?:weight|bias)$|^output\.bias$")
"""Embeddings and outputs over the vocabulary, by name, as another layer may have as many rows as there are tokens."""


def transfer_vocabulary(
    saved: Mapping[str, Tensor], expected: Mapping[str, Tensor], old: Tokenizer, new: Tokenizer
) -> dict[str, Tensor]:
    """Replace embeddings, and other weights with one row per token, by those of a new vocabulary.

    Args:
        saved: Weights by name, of a model with the old vocabulary.
        expected: Weights of the model with the new vocabulary, which say how many rows a weight has.
        old: Tokenizer of the old vocabulary.
        new: Tokenizer of the new vocabulary.

    Returns:
        The weights by name. The row of a new token is the mean of the rows of its subtokens, or of all rows if the old
        vocabulary has none of its bytes.
    """
    subtokens = split_tokens(old, new)

    def has_token_rows(name: str, weight: Tensor) -> bool:
        is_known = name in expected and _TOKEN_ROWS.search(name) is not None
        return is_known and len(weight) == old.vocab_size and len(expected[name]) == new.vocab_size

    return {
        name: _mean_rows(weight, subtokens) if has_token_rows(name, weight) else weight
        for name, weight in saved.items()
    }


def split_tokens(old: Tokenizer, new: Tokenizer) -> list[list[int]]:
    """Split each token of the new vocabulary into tokens of the old one, by greedy longest match of its bytes.

    A special token is that of the same role; a token without known bytes has no subtokens.
    """
    ids: dict[bytes, int] = {}
    for token, content in enumerate(old.token_bytes()):
        if content:
            ids.setdefault(content, token)
    roles = dict(zip(_roles(new), _roles(old), strict=False))
    return [
        [roles[token]] if token in roles else _longest_match(content, ids)
        for token, content in enumerate(new.token_bytes())
    ]


def _roles(tokenizer: Tokenizer) -> tuple[int, ...]:
    special = tokenizer.special_tokens
    return special.pad, special.eos, special.decoder_start, *special.suppressed


def _longest_match(content: bytes, ids: Mapping[bytes, int]) -> list[int]:
    """Split bytes into the longest known tokens, from the start; unknown bytes are left out."""
    subtokens: list[int] = []
    start = 0
    while start < len(content):
        ends = range(len(content), start, -1)
        end = next((end for end in ends if content[start:end] in ids), None)
        if end is not None:
            subtokens.append(ids[content[start:end]])
        start = end or start + 1
    return subtokens


def _mean_rows(weight: Tensor, subtokens: Sequence[Sequence[int]]) -> Tensor:
    rows = weight.double().flatten(1) if weight.ndim > 1 else weight.double()[:, None]
    offsets = torch.tensor([0, *accumulate(map(len, subtokens))][:-1])
    means = F.embedding_bag(
        torch.tensor([*chain.from_iterable(subtokens)], dtype=torch.long), rows, offsets, mode="mean"
    )
    is_empty = torch.tensor([not bag for bag in subtokens])
    means = torch.where(is_empty[:, None], rows.mean(0), means)
    return means.reshape(len(subtokens), *weight.shape[1:]).to(weight.dtype)
