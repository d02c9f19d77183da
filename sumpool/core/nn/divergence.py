"""How widely attention is shared out among sentences, and how far one sharing is from another.

Shares are logarithms, (batch, heads, target, sentences), as `share_out` in `sumpool.core.nn.sentences` gives them: -inf
where a document has no such sentence, and nothing there reaches a result or a gradient.
"""

import torch
from torch import Tensor

from sumpool.core.nn.sentences import share_out


def entropy(shares: Tensor) -> Tensor:
    """Take the entropy over the sentences (Manakul and Gales, 2021, Equation 5).

    Returns:
        (batch, heads, target), in nats; 0 where a document has no sentence.
    """
    return -(shares.exp() * _finite(shares)).sum(-1)


def divergence(target: Tensor, shares: Tensor) -> Tensor:
    """Take the Kullback-Leibler divergence KL(target || shares) over the sentences (Equation 11).

    Returns:
        (batch, heads, target), in nats; 0 where a document has no sentence.
    """
    return (target.exp() * (_finite(target) - _finite(shares))).sum(-1)


def sharpen(shares: Tensor, temperature: float, exists: Tensor) -> Tensor:
    """Raise shares to the power 1 / temperature and let them sum to 1 again (Equation 15).

    Args:
        shares: (batch, heads, target, sentences).
        temperature: Below 1 what is large becomes larger.
        exists: (batch, sentences), True where a document has such a sentence.
    """
    return share_out(_finite(shares) / temperature, exists)


def mean_over_documents(values: Tensor, mask: Tensor | None) -> Tensor:
    """Take the mean over heads and real tokens of each document, then over the documents.

    Args:
        values: (batch, heads, target).
        mask: (batch, target), True at real tokens; None where all are.

    Returns:
        A scalar; a document without a real token counts 0.
    """
    values = values.mean(1)  # (batch, target)
    if mask is None:
        return values.mean()
    return (values.masked_fill(~mask, 0.0).sum(1) / mask.sum(1).clamp_min(1)).mean()


def _finite(shares: Tensor) -> Tensor:
    """Put 0 where there is no sentence: -inf times a share of 0 is no number."""
    return shares.masked_fill(shares == -torch.inf, 0.0)
