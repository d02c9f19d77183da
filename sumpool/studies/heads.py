"""Importance of attention heads, and the loss without the least important ones (Michel et al., 2019).

A gate of 1 multiplies the output of every head ahead of the output projection. The importance of a head is the
expectation of |dL / dgate| over documents (arXiv:1905.10650, Equation 2), L being the loss of one document in nats per
target token, divided by the Euclidean norm of the importances of its attention, as they do after Molchanov et al.
(2017). A head is masked by a gate of 0.

Gates may be trained too (Voita et al., 2019, arXiv:1905.09418): random ones with a Hard Concrete distribution (Louizos
et al., 2018, arXiv:1712.01312), so that the loss of a document and the expected number of open gates, which is their L0
norm, have gradients by its parameter. The weights of the model stay as they are; in the paper they learn as well.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from sumpool.bench.results import Result, Row
from sumpool.bench.workload import Conditions
from sumpool.core.attention._base import Attention
from sumpool.core.cross_attention import CrossAttention
from sumpool.core.model.decoder import CausalAttention
from sumpool.data.batches import Batch, ItemSource
from sumpool.data.shards import Shard
from sumpool.inference.loading import LoadedModel
from sumpool.runs.run_folder import prepared_data_of
from sumpool.studies.config import HeadsConfig
from sumpool.studies.sparsity import validation_data
from sumpool.studies.study import Steps, make_table
from sumpool.training.fit import validate

_LOW, _HIGH, _TEMPERATURE = -0.1, 1.1, 0.33
"""Limits between which gates are stretched, and temperature, in the code of Voita et al."""
_GATE_RATE = 0.05
"""Learning rate of gates."""
_GATE_START = 2.0
"""Parameter of gates at first, with which nearly all are open."""


def measure_heads(loaded: LoadedModel, settings: HeadsConfig, conditions: Conditions, steps: Steps) -> Result:
    """Estimate the importance of every head of a trained model, and its loss with the least important ones masked.

    With `gates`, the loss with as many masked whose trained gates are the least likely to be open is measured too.

    Raises:
        DataError: If the prepared data is missing, or has no validation document, or none for training gates.
    """
    data = validation_data(loaded)
    documents = min(settings.documents, len(data.validation))
    steps.total = documents + settings.gates

    def batches(source: ItemSource, count: int) -> Iterator[Batch]:
        for index in range(count):
            steps()
            yield data.batch(source, [index % len(source)]).to(conditions.device)

    measured = {"importance": head_importance(loaded.model, batches(data.validation, documents))}
    if settings.gates:
        data = replace(data, training=Shard(prepared_data_of(loaded.folder, loaded.recipe), "train"))
        measured["gates"] = train_gates(loaded.model, batches(data.training, settings.gates), settings.penalty)
    masked = {by: least_important(values, settings.share) for by, values in measured.items()}
    config = loaded.recipe.train.model_copy(update={"validate_documents": documents})
    total = sum(map(len, measured["importance"].values()))
    losses = []
    with head_gates(loaded.model) as gates:
        for by, without in {"": {}, **masked}.items():
            for name, gate in gates.items():
                gate.fill_(1.0)
                gate[without.get(name, [])] = 0.0
            loss = validate(loaded.model, data, config, conditions.device, steps.check)[0]
            count = sum(map(len, without.values()))
            losses.append(Row({"by": by or None, "masked": count, "heads": total - count, "loss": loss}))
    rows, lines = [], []
    for name, heads in masked["importance"].items():
        row: dict[str, Any] = {"attention": name, "gates": None, "masked": heads}
        line = dict(row)
        for by, values in measured.items():
            row[by] = values[name].tolist()
            line[by] = " ".join(f"{value:.2f}{'*' * (head in masked[by][name])}" for head, value in enumerate(row[by]))
        rows.append(Row(row))
        lines.append(Row(line))
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
    with ExitStack() as hooks:
        for name, attention in attentions(model).items():
            gates[name] = attention.out.weight.new_ones(attention.heads)
            hooks.enter_context(attention.out.register_forward_pre_hook(partial(multiply, gates[name])))
        yield gates


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


def train_gates(model: nn.Module, documents: Iterable[Batch], penalty: float) -> dict[str, Tensor]:
    """Train a Hard Concrete gate of every head, by Adam and an update for each document.

    Args:
        model: As in `head_importance`.
        documents: Batches of documents with their references.
        penalty: Weight of the expected number of open gates, in nats per target token.

    Returns:
        Probability that the gates of each attention are open, by its name, (heads,), on the CPU.
    """
    generator = torch.Generator().manual_seed(0)
    with head_gates(model) as gates:
        parameters = [torch.full_like(gate, _GATE_START, requires_grad=True) for gate in gates.values()]
        optimizer = torch.optim.Adam(parameters, lr=_GATE_RATE)
        for batch in documents:
            assert batch.target is not None, "documents have references"
            with torch.enable_grad():
                for gate, parameter in zip(gates.values(), parameters, strict=True):
                    uniform = torch.rand(gate.shape, generator=generator).to(gate).clamp(1e-6, 1 - 1e-6)
                    gate.detach_().copy_(hard_concrete(parameter, uniform))
                scores, *_ = model(batch.ids, batch.mask, batch.sentences, batch.target)
                loss = scores.nll / (batch.target != batch.pad).sum()
                loss = loss + penalty * torch.stack([open_probability(part).sum() for part in parameters]).sum()
                gradients = torch.autograd.grad(loss, parameters)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            optimizer.step()
        return {name: open_probability(part).detach().cpu() for name, part in zip(gates, parameters, strict=True)}


def hard_concrete(parameter: Tensor, uniform: Tensor) -> Tensor:
    """Return gates in [0, 1] from the logarithms of their locations and uniform random numbers, (heads,) each."""
    concrete = torch.sigmoid((uniform.logit() + parameter) / _TEMPERATURE)
    return (concrete * (_HIGH - _LOW) + _LOW).clamp(0, 1)


def open_probability(parameter: Tensor) -> Tensor:
    """Return the probability that a Hard Concrete gate is not 0."""
    return torch.sigmoid(parameter - _TEMPERATURE * math.log(-_LOW / _HIGH))


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
