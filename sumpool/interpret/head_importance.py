"""Importance of attention heads by the gradients of their gates (Michel et al., 2019, arXiv:1905.10650).

A gate of 1 multiplies the output of every head ahead of the output projection. The importance of a head is the
expectation of |dL / dgate| over documents (their Equation 2), L being the loss of one document in nats per target
token, divided by the Euclidean norm of the importances of its attention, as they do after Molchanov et al. (2017).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from sumpool.core.model.head_pruning import attentions
from sumpool.data.batches import Batch
from sumpool.progress import Check, no_op


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
