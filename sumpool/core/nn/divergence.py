"""Entropy and Kullback-Leibler divergence of attention over sentences.

Log-weights are (batch, heads, target, sentences), as `sentence_log_softmax` in `sumpool.core.nn.sentences` returns
them: -inf at sentences that do not exist, which contribute to no result and no gradient.
"""

import torch
from torch import Tensor

from sumpool.core.nn.sentences import sentence_log_softmax


def entropy(log_weights: Tensor) -> Tensor:
    """Entropy over the sentences (Manakul and Gales, 2021, Equation 5).

    Returns:
        (batch, heads, target), in nats; 0 for documents without sentences.
    """
    return -(log_weights.exp() * _finite(log_weights)).sum(-1)


def divergence(target: Tensor, log_weights: Tensor) -> Tensor:
    """Kullback-Leibler divergence KL(target || log_weights) over the sentences (Equation 11).

    Returns:
        (batch, heads, target), in nats; 0 for documents without sentences.
    """
    return (target.exp() * (_finite(target) - _finite(log_weights))).sum(-1)


def sharpen(log_weights: Tensor, temperature: float, exists: Tensor) -> Tensor:
    """Divide log-weights by a temperature and normalise them (Equation 15).

    Args:
        log_weights: (batch, heads, target, sentences).
        temperature: Values below 1 sharpen the distribution.
        exists: (batch, sentences), True at existing sentences.
    """
    return sentence_log_softmax(_finite(log_weights) / temperature, exists)


def mean_over_documents(values: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over heads and real tokens of each document, then over the documents.

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


def _finite(log_weights: Tensor) -> Tensor:
    """Replace -inf by 0, since -inf times a weight of 0 is NaN."""
    return log_weights.masked_fill(log_weights == -torch.inf, 0.0)
