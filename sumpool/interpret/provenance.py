"""Where every vector of the memory comes from: source tokens and their weights, through any number of poolings.

Each pooling makes weighted sums of the vectors before it, so all of them together are a product of sparse matrices.
What attention and feed-forward mix into a vector on its way is not in it: a weight says which vectors were pooled
together and how, not what they had seen.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array, eye_array
from torch import Tensor

from sumpool.core.model.summarizer import Memory
from sumpool.core.nn.mixture import Mixture


def provenance(memory: Memory) -> list[csr_array]:
    """Trace the vectors that the last pooling left.

    Args:
        memory: What `Summarizer.encode` made of a batch of documents.

    Returns:
        For each document a matrix (vectors, source tokens) in double precision, real ones only; rows are in the order
        of the memory and sum to 1. Without a pooling it is the identity.
    """
    mixtures = [mixture() for mixture in memory.mixtures]
    return [compose(mixtures, number, int(memory.source.mask[number].sum())) for number in range(len(memory.ids))]


def compose(mixtures: Sequence[Mixture], number: int, tokens: int) -> csr_array:
    """Multiply the poolings of one document.

    Args:
        mixtures: What each pooling made of the vectors before it, first to last.
        number: Place of the document in the batch.
        tokens: Its real source tokens.

    Returns:
        (vectors, source tokens); rows sum to 1.
    """
    traced = eye_array(tokens, format="csr")
    for mixture in mixtures:
        traced = _matrix(mixture, number, traced.shape[0]) @ traced
    return traced


def _matrix(mixture: Mixture, number: int, before: int) -> csr_array:
    """One pooling of one document: (vectors left, vectors before)."""
    vectors = int(mixture.mask[number].sum())
    members, weights = (_numbers(part[number, :vectors]) for part in (mixture.members, mixture.weights))
    weights = weights.astype(np.float64)
    # Single precision leaves sums a rounding away from one, which a product of poolings would add up.
    weights /= weights.sum(1, keepdims=True)
    rows = np.repeat(np.arange(vectors), members.shape[1])
    taking_part = weights.ravel() > 0
    entries = (weights.ravel()[taking_part], (rows[taking_part], members.ravel()[taking_part]))
    return csr_array(entries, shape=(vectors, before))


def _numbers(part: Tensor) -> np.ndarray:
    found: np.ndarray = part.detach().cpu().numpy()
    return found
