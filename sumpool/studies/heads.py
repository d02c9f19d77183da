"""Importance of attention heads, and the loss without the least important ones (Michel et al., 2019).

A gate of 1 multiplies the output of every head ahead of the output projection. The importance of a head is the
expectation of |dL / dgate| over documents (arXiv:1905.10650, Equation 2), L being the loss of one document in nats per
target token, divided by the Euclidean norm of the importances of its attention, as they do after Molchanov et al.
(2017). A head is masked by a gate of 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from sumpool.bench.measures import Steps
from sumpool.bench.results import Result, Row
from sumpool.bench.workload import Conditions
from sumpool.core.attention._base import Attention
from sumpool.core.cross_attention import CrossAttention
from sumpool.core.model.decoder import CausalAttention
from sumpool.data.batches import Batch
from sumpool.inference.loading import LoadedModel
from sumpool.progress import Check, Report, no_op
from sumpool.studies.config import HeadsConfig
from sumpool.studies.sparsity import validation_data
from sumpool.studies.study import make_table
from sumpool.training.fit import validate


def measure_heads(
    loaded: LoadedModel, settings: HeadsConfig, conditions: Conditions, report: Report = no_op, check: Check = no_op
) -> Result:
    """Estimate the importance of every head of a trained model, and its loss with the least important ones masked.

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
    """
    data = validation_data(loaded)
    documents = min(settings.documents, len(data.validation))
    steps = Steps(documents, report, check)

    def batches() -> Iterator[Batch]:
        for index in range(documents):
            steps()
            yield data.batch(data.validation, [index]).to(conditions.device)

    importance = head_importance(loaded.model, batches())
    steps.finish()
    masked = least_important(importance, settings.share)
    config = loaded.recipe.train.model_copy(update={"validate_documents": documents})
    total = sum(map(len, importance.values()))
    losses = []
    with head_gates(loaded.model) as gates:
        for without in ({}, masked):
            for name, heads in without.items():
                gates[name][heads] = 0.0
            loss = validate(loaded.model, data, config, conditions.device, check)[0]
            count = sum(map(len, without.values()))
            losses.append(Row({"masked": count, "heads": total - count, "loss": loss}))
    rows, lines = [], []
    for name, values in importance.items():
        rows.append(Row({"attention": name, "importance": values.tolist(), "masked": masked[name]}))
        cells = (f"{value:.2f}{'*' * (head in masked[name])}" for head, value in enumerate(values.tolist()))
        lines.append(Row({"attention": name, "importance": " ".join(cells)}))
    facts = {"documents": documents}
    tables = [make_table("heads", lines, facts), make_table("masked_heads", losses, facts)]
    return Result({"heads": rows, "losses": losses}, tables, facts)


def attentions(model: nn.Module) -> dict[str, Attention | CausalAttention | CrossAttention]:
    """All attentions of a model by their names, such as `encoder.layers.0.attention`, in the order of the model."""
    kinds = (Attention, CausalAttention, CrossAttention)
    return {name: module for name, module in model.named_modules() if isinstance(module, kinds)}


@contextmanager
def head_gates(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Multiply the output of every head by a gate for the duration of a block.

    Yields:
        Gates of each attention by its name, (heads,), ones at first; they may be changed in place.
    """

    def multiply(gates: Tensor, _: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        (merged,) = inputs  # (..., heads * head_dim)
        return ((merged.unflatten(-1, (len(gates), -1)) * gates[:, None]).flatten(-2),)

    gates: dict[str, Tensor] = {}
    hooks = []
    for name, attention in attentions(model).items():
        gates[name] = attention.out.weight.new_ones(attention.heads)
        hooks.append(attention.out.register_forward_pre_hook(partial(multiply, gates[name])))
    try:
        yield gates
    finally:
        for hook in hooks:
            hook.remove()


def head_importance(model: nn.Module, documents: Iterable[Batch]) -> dict[str, Tensor]:
    """Estimate the importance of every head.

    Args:
        model: Model in evaluation mode that scores references, on the device of the documents.
        documents: Batches of one document with its reference each.

    Returns:
        Importance of the heads of each attention by its name, (heads,), on the CPU; squares sum to 1, or all are 0.
    """
    with head_gates(model) as gates:
        sums = {name: torch.zeros(len(gate), dtype=torch.float64) for name, gate in gates.items()}
        for gate in gates.values():
            gate.requires_grad_()
        for batch in documents:
            assert batch.target is not None, "documents have references"
            with torch.enable_grad():
                scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target)
                loss = scores.nll / (batch.target != batch.pad).sum()
                gradients = torch.autograd.grad(loss, list(gates.values()), allow_unused=True)
            for name, gradient in zip(gates, gradients, strict=True):
                if gradient is not None:
                    sums[name] += gradient.abs().double().cpu()
    return {name: total / (float(total.norm()) or 1) for name, total in sums.items()}  # zeros stay zeros


def least_important(importance: Mapping[str, Tensor], share: float) -> dict[str, list[int]]:
    """Indices of the least important heads, a share of those of the model, but for one of each attention."""
    masked: dict[str, list[int]] = {name: [] for name in importance}
    count = round(share * sum(map(len, importance.values())))
    heads = [(name, head) for name, values in importance.items() for head in range(len(values))]
    for name, head in sorted(heads, key=lambda each: float(importance[each[0]][each[1]])):
        if count and len(masked[name]) + 1 < len(importance[name]):
            masked[name].append(head)
            count -= 1
    return {name: sorted(indices) for name, indices in masked.items()}
