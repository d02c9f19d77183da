"""Provenance of pooled vectors: source tokens and their weights, through any number of poolings.

Each pooling takes weighted sums of the vectors before it, so their composition is a product of sparse matrices. Weights
say which vectors were pooled together; what attention and feed-forward layers mix into a vector is not part of them.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from sumpool.core.model.summarizer import Memory
from sumpool.core.nn.states import Mixture


def provenance(memory: Memory) -> list[Tensor]:
    """Source weights of the memory vectors.

    Args:
        memory: Output of `SummarizationModel.encode` for a batch of documents.

    Returns:
        For each document a coalesced sparse matrix (vectors, source tokens) of its real vectors, double precision, on
        the CPU. Rows are in the order of the memory and sum to 1; without a pooling the matrix is the identity.
    """
    mixtures = [mixture() for mixture in memory.mixtures]
    return [compose_mixtures(mixtures, row, int(memory.source.mask[row].sum())) for row in range(len(memory.ids))]


def compose_mixtures(mixtures: Sequence[Mixture], row: int, tokens: int) -> Tensor:
    """Product of the poolings of one document.

    Args:
        mixtures: The poolings, first to last.
        row: Index of the document in the batch.
        tokens: Number of its real source tokens.

    Returns:
        Coalesced sparse (vectors, source tokens); rows sum to 1.
    """
    weights = _sparse(torch.arange(tokens), torch.arange(tokens), torch.ones(tokens).double(), (tokens, tokens))
    for mixture in mixtures:
        weights = _product(_pooling_weights(mixture, row, weights.size(0)), weights)
    return weights


def _pooling_weights(mixture: Mixture, row: int, length: int) -> Tensor:
    """Sparse weights of one pooling of one document, (vectors, length)."""
    vectors = int(mixture.mask[row].sum())
    members = mixture.members[row, :vectors].detach().cpu()  # (vectors, members)
    weights = mixture.weights[row, :vectors].detach().cpu().double()  # (vectors, members)
    # In single precision sums are a rounding error away from one, which a product of poolings would accumulate.
    weights = weights / weights.sum(1, keepdim=True)
    positive = weights > 0
    rows = torch.arange(vectors)[:, None].expand_as(members)
    return _sparse(rows[positive], members[positive], weights[positive], (vectors, length))


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Multiply coalesced sparse matrices; `torch.sparse.mm` goes through CSR tensors, which are in beta."""
    (rows, inner), (right_rows, columns) = left.indices(), right.indices()
    counts = right_rows.bincount(minlength=right.size(0))  # entries in each row of `right`
    first = (counts.cumsum(0) - counts)[inner]
    matches = counts[inner]  # entries of `right` per entry of `left`
    entries = torch.arange(len(inner)).repeat_interleave(matches)
    offsets = torch.arange(len(entries)) - (matches.cumsum(0) - matches)[entries]
    partners = first[entries] + offsets
    weights = left.values()[entries] * right.values()[partners]
    return _sparse(rows[entries], columns[partners], weights, (left.size(0), right.size(1)))


def _sparse(rows: Tensor, columns: Tensor, weights: Tensor, shape: tuple[int, int]) -> Tensor:
    return torch.sparse_coo_tensor(torch.stack([rows, columns]), weights, shape, check_invariants=False).coalesce()
