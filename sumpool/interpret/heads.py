"""Importance of attention heads by the gradients of their gates, and masks of heads (Michel et al., 2019).

A gate of 1 multiplies the output of every head ahead of the output projection. The importance of a head is the
expectation of |dL / dgate| over documents (arXiv:1905.10650, Equation 2), L being the loss of one document in nats per
target token, divided by the Euclidean norm of the importances of its attention, as they do after Molchanov et al.
(2017). A head is masked by a gate of 0, as part of the output projection.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import Attention
from sumpool.core.cross_attention._base import CrossAttention
from sumpool.core.model.decoder import CausalAttention
from sumpool.data.batches import Batch
from sumpool.progress import Check, no_op

HeadedAttention = Attention | CausalAttention | CrossAttention


def attentions(model: nn.Module) -> dict[str, HeadedAttention]:
    """All attentions of a model by their names, such as `encoder.layers.0.attention`, in the order of the model."""
    return {name: module for name, module in model.named_modules() if isinstance(module, HeadedAttention)}


@contextmanager
def head_gates(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Multiply the output of every head by a gate for the duration of a block.

    Yields:
        Gates of each attention by its name, (heads,), ones at first; they may be changed in place.
    """
    gates: dict[str, Tensor] = {}
    hooks = []
    for name, attention in attentions(model).items():
        gates[name] = torch.ones(attention.heads, dtype=attention.out.weight.dtype, device=attention.out.weight.device)
        hooks.append(attention.out.register_forward_pre_hook(partial(_apply, gates[name])))
    try:
        yield gates
    finally:
        for hook in hooks:
            hook.remove()


def head_importance(model: nn.Module, documents: Iterable[Batch], check: Check = no_op) -> dict[str, Tensor]:
    """Estimate the importance of every head.

    Args:
        model: Model in evaluation mode that scores references, on the device of the documents.
        documents: Batches of one document with its reference each, at least one.
        check: Called before each document.

    Returns:
        Importance of the heads of each attention by its name, (heads,), on the CPU; squares sum to 1, or all are 0.

    Raises:
        ValueError: If there are no documents.
    """
    with head_gates(model) as gates:
        sums = {name: torch.zeros(len(gate), dtype=torch.float64) for name, gate in gates.items()}
        for gate in gates.values():
            gate.requires_grad_()
        count = 0
        for batch in documents:
            check()
            count += 1
            for name, gradient in _gate_gradients(model, gates, batch).items():
                sums[name] += gradient.abs().double().cpu()
    if not count:
        raise ValueError("documents must not be empty, got none")
    return {name: normalise(total / count) for name, total in sums.items()}


def normalise(importance: Tensor) -> Tensor:
    """Divide the importances of an attention's heads by their Euclidean norm; zeros stay zeros."""
    norm = importance.norm()
    return importance / norm if norm > 0 else importance


def unmasked_heads(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """Indices of the heads of each attention that are not masked, by its name."""
    return {
        name: tuple(_by_head(attention).any(2).any(0).nonzero()[:, 0].tolist())
        for name, attention in attentions(model).items()
    }


def choose_heads(
    importance: Mapping[str, Tensor], heads: Mapping[str, Sequence[int]], share: float
) -> dict[str, tuple[int, ...]]:
    """Choose the heads to mask: the least important ones of the whole model, but for one of each attention.

    Args:
        importance: Importance of the heads of each attention by its name, (heads,).
        heads: Indices of the heads to choose from, by the name of the attention.
        share: Share of these heads to mask, rounded to the nearest number.

    Returns:
        Indices of the heads to mask, by the name of the attention.

    Raises:
        ValueError: If the share masks no head, or more than can be masked.
    """
    total = sum(map(len, heads.values()))
    count = round(share * total)
    most = total - sum(len(indices) > 0 for indices in heads.values())
    if not 0 < count <= most:
        rule = f"mask 1 to {most} of {total} heads, as every attention keeps one"
        raise ValueError(f"the share of heads must {rule}, got {share:g}, which are {count}")
    masked: dict[str, list[int]] = {name: [] for name in heads}
    ranked = sorted((float(importance[name][head]), name, head) for name in heads for head in heads[name])
    for _, name, head in ranked:
        if count and len(masked[name]) + 1 < len(heads[name]):
            masked[name].append(head)
            count -= 1
    return {name: tuple(sorted(indices)) for name, indices in masked.items()}


@torch.no_grad()
def mask_heads(model: nn.Module, masked: Mapping[str, Sequence[int]]) -> None:
    """Set the outputs of heads, whose indices are given by the name of their attention, to 0 in place."""
    for name, attention in attentions(model).items():
        _by_head(attention)[:, list(masked.get(name, ()))] = 0.0


def _by_head(attention: HeadedAttention) -> Tensor:
    """View of the output projection by heads, (dim, heads, head_dim)."""
    by_head: Tensor = attention.out.weight.unflatten(1, (attention.heads, -1))
    return by_head


def _gate_gradients(model: nn.Module, gates: Mapping[str, Tensor], batch: Batch) -> dict[str, Tensor]:
    """Gradients of the loss of a document, in nats per target token, by the gates."""
    assert batch.target is not None, "documents have references"
    with torch.enable_grad():
        scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target)
        loss = scores.nll / (batch.target != batch.pad).sum()
        gradients = torch.autograd.grad(loss, list(gates.values()), allow_unused=True)
    return {name: gradient for name, gradient in zip(gates, gradients, strict=True) if gradient is not None}


def _apply(gates: Tensor, module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
    """Multiply merged heads (..., heads * head_dim) by their gates."""
    del module
    (merged,) = inputs
    return ((merged.unflatten(-1, (len(gates), -1)) * gates[:, None]).flatten(-2),)
