"""Projection of a training on many devices, from the counted operations and gradients of one step.

A step of one document is run here: its operations are counted, and DistributedDataParallel hands the gradients that it
would send to a hook that counts their bytes. Everything else is arithmetic over `ScalingConfig`:

- ddp: each device holds weights, gradients and the two moments of AdamW, and sends 2 (n - 1) / n of the gradients for
  each update (ring all-reduce).
- fsdp: each holds an n-th of them, beside whole weights and gradients during a step, and sends as much: weights are
  gathered once, and gradients scattered once (`sumpool.training.parallel_update`).

Communication overlaps computation: an update takes the longer of both.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from sumpool.bench.measures import Steps, count
from sumpool.bench.results import Result, Row
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.progress import Check, Report, no_op
from sumpool.studies.config import ScalingConfig
from sumpool.studies.study import make_table
from sumpool.training.hardware import peak

PARALLEL = ("ddp", "fsdp")
_STATES = 2
"""Moments of AdamW, each as large as the weights."""
_GIBI = 2**30
_GIGA = 10**9
_TERA = 10**12


@dataclass(frozen=True)
class StepCost:
    """Cost of a training step of one document.

    Attributes:
        operations: Operations of forward and backward pass.
        weights: Bytes of the weights, in single precision.
        gradients: Bytes of the gradients that DistributedDataParallel sends.
        activations: Bytes that a step needs beside weights and gradients; None where this cannot be known.
        tokens: Source tokens.
    """

    operations: int
    weights: int
    gradients: int
    activations: int | None
    tokens: int


def measure_scaling(
    model: ModelConfig,
    update_tokens: int,
    settings: ScalingConfig,
    conditions: Conditions,
    report: Report = no_op,
    check: Check = no_op,
) -> Result:
    """Measure a step of one document of the greatest length, and project updates of `update_tokens` source tokens."""
    steps = Steps(2, report, check)
    steps()
    subject = Subject(model, conditions)
    documents = Documents.random(1, model.source_length, model.target_length, conditions)
    gradients: list[int] = []
    operations = count(lambda: gradients.append(_sent_gradients(subject, documents)))
    steps()
    memory = peak(lambda: subject.train(documents), conditions.device)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in subject.model.parameters())
    activations = None if memory is None else max(0, memory - weights)
    steps.finish()
    return scaling_result(
        StepCost(operations, weights, gradients[0], activations, model.source_length), update_tokens, settings
    )


def scaling_result(cost: StepCost, update_tokens: int, settings: ScalingConfig) -> Result:
    """Tables of the step and of its projection."""
    rows = [
        _project(cost, update_tokens, devices, parallel, settings)
        for devices in settings.devices
        for parallel in PARALLEL
    ]
    step = Row(
        {
            "operations": cost.operations / _TERA,
            "weights": cost.weights / 4 / 10**6,
            "gradients": cost.gradients / _GIGA,
            "activations": None if cost.activations is None else cost.activations / _GIBI,
            "tokens": cost.tokens,
        }
    )
    facts: dict[str, Any] = {**settings.model_dump(), "update_tokens": update_tokens}
    tables = [make_table("scaling_step", [step], facts), make_table("scaling", rows, facts)]
    return Result({"scaling_step": [step], "scaling": rows}, tables)


def _project(cost: StepCost, update_tokens: int, devices: int, parallel: str, settings: ScalingConfig) -> Row:
    share = (devices - 1) / devices
    rate = settings.teraflops * _TERA * settings.utilization
    bandwidth = (settings.link if devices <= settings.machine else settings.network) * _GIGA
    sent = 2 * share * cost.gradients if parallel == "ddp" else share * (cost.weights + cost.gradients)
    states = (1 + _STATES) * cost.weights + cost.gradients
    memory = states if parallel == "ddp" else states / devices + cost.weights + cost.gradients
    per_token = cost.operations / cost.tokens / rate
    compute, communication = update_tokens / devices * per_token, sent / bandwidth
    seconds = max(compute, communication)
    return Row(
        {
            "devices": devices,
            "parallel": parallel,
            "memory": memory / _GIBI,
            "sent": sent / _GIGA,
            "compute": 1000 * compute,
            "communication": 1000 * communication,
            "hidden": communication / per_token,
            "documents": update_tokens / devices / cost.tokens,
            "days": _TERA / update_tokens * seconds / 86_400,
            "price": _TERA / update_tokens * seconds * devices / 3600 * settings.price,
        }
    )


def _sent_gradients(subject: Subject, documents: Documents) -> int:
    """Run a step under DistributedDataParallel, in a group of one process; return the bytes of its buckets."""
    sizes: list[int] = []

    def hook(_: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:  # type: ignore[name-defined]
        sizes.append(bucket.buffer().nbytes)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)  # type: ignore[attr-defined]
    try:
        subject.model.train()
        replica = nn.parallel.DistributedDataParallel(subject.model)
        replica.register_comm_hook(None, hook)
        with subject.conditions.autocast():
            scores, losses, _ = replica(documents.ids, documents.mask, documents.sentences, documents.target)
            loss = sum(losses.values(), start=scores.nll / scores.log_prob.numel())
        torch.autograd.backward(loss)
        subject.model.zero_grad(set_to_none=True)
    finally:
        dist.destroy_process_group()
    return sum(sizes)
