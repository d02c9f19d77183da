"""Self-attentions: time and memory by document length beside counted operations, and errors of approximations.

Costs are those of a forward and a backward pass of one layer of one document without padding. They are fitted as
constant * length ** exponent; the constant is given as the fitted cost of the first length.

Errors are those of attentions that approximate others, by number of features and by length (Chen et al., 2021, Figure
1): the spectral norm of the difference from the exact outputs of a head, in proportion to the spectral norm of these,
before the output projection; means over heads, layers, documents and draws. Weights and states are random, or those of
the encoder layers of a trained run, whose attentions need queries, keys and values, on validation documents.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sumpool.bench.measures import clock, count
from sumpool.bench.results import Column, Result, Row, where
from sumpool.bench.workload import Conditions
from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.attention.informer import InformerAttentionConfig
from sumpool.core.attention.kernelized import KernelizedAttentionConfig
from sumpool.core.attention.linformer import LinformerAttentionConfig
from sumpool.core.attention.nystrom import NystromAttentionConfig
from sumpool.core.attention.performer import PerformerAttentionConfig
from sumpool.core.attention.skeinformer import SkeinformerAttentionConfig
from sumpool.core.attention.skyformer import SkyformerAttentionConfig
from sumpool.core.attention.v_mean import VMeanAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.model.encoder import EncoderLayer
from sumpool.core.tokens import Tokens
from sumpool.errors import RecipeError
from sumpool.inference.loading import LoadedModel
from sumpool.progress import Check
from sumpool.settings import config_class, kinds
from sumpool.studies.config import ApproximationConfig, AttentionsConfig
from sumpool.studies.sparsity import validation_batches
from sumpool.studies.study import Steps, make_table
from sumpool.training.hardware import available, try_peak

_PACKAGE = "sumpool.core.attention"
_GROWTH = 4.5
"""Cost of twice the length, at most about."""
_SHARE = 0.4
"""Share of the free memory that a measurement may take."""
_COSTS = ("seconds", "memory", "operations")
SWEEP = {f"neighborhood, r = {radius}": {"kind": "neighborhood", "radius": radius} for radius in (25, 50, 100, 200)} | {
    f"convolutional, kernel {kernel}, stride {stride}": {"kind": "convolutional", "kernel": kernel, "stride": stride}
    for kernel, stride in ((3, 1), (3, 2), (3, 3), (5, 3), (5, 5), (9, 9))
}
SWEEP["both, 3 / 3, r = 33 phrases"] = {"kind": "convolutional", "radius": 33}
"""Rows of `study.sweep`: what paper 5 wants to vary and combine, beside its r = 100 and 3 / 3."""


def measure_attention_costs(settings: AttentionsConfig, conditions: Conditions, steps: Steps) -> Result:
    """Measure every attention, from the shortest document to the longest that time and memory allow."""
    names = [*SWEEP] if settings.sweep else kinds(_PACKAGE)
    steps.total = len(names)
    rows: list[Row] = []
    fits: list[Row] = []
    for name in names:
        steps()
        measured: list[Row] = []
        for length in sorted(settings.lengths):
            row = _measure_length(name, length, settings, conditions, steps.check)
            if row.note:
                break
            measured.append(row)
            memory = (row["memory"] or 0) * _GROWTH
            if row["seconds"] * _GROWTH > settings.seconds or memory > _SHARE * available(conditions.device):
                break
        rows += measured
        fits.append(fit_row(name, measured))
    facts = settings.model_dump() | {"first": min(settings.lengths)}
    tables = [make_table("attention_costs", fits, facts), make_table("attention_lengths", rows, facts)]
    return Result({"attention_costs": fits, "attention_lengths": rows}, tables)


def attention_config(name: str, length: int, heads: int) -> AttentionConfig:
    """Return the settings of a row, an attention with its defaults or one of `SWEEP`.

    It has room for the document and no more local heads than heads.
    """
    settings = SWEEP.get(name, {"kind": name})
    config = config_class(_PACKAGE, str(settings["kind"]))
    sizes = {"length": length, "local_heads": min(2, heads - 1)}
    attention = config.model_validate(settings | {n: s for n, s in sizes.items() if n in config.model_fields})
    assert isinstance(attention, AttentionConfig)
    return attention


def fit_row(name: str, measured: Sequence[Row]) -> Row:
    """Fit exponents, and costs of the first length, to the rows of an attention; a fixed part lowers an exponent.

    With fewer than three lengths, or where a cost is not known or nothing, there is no growth to tell.
    """
    lengths = [row["length"] for row in measured]
    values: dict[str, Any] = {"name": name, "longest": max(lengths, default=None)}
    for cost in _COSTS:
        costs = [row[cost] for row in measured]
        if len(set(lengths)) >= 3 and all(costs):
            growth, constant = np.polyfit(np.log(np.array(lengths) / lengths[0]), np.log(costs), 1)
            values |= {f"{cost}_exponent": float(growth), f"{cost}_constant": float(np.exp(constant))}
    return Row(values)


def _measure_length(name: str, length: int, settings: AttentionsConfig, conditions: Conditions, check: Check) -> Row:
    """Measure a forward and a backward pass, the fastest of the repetitions, after one for the memory."""
    torch.manual_seed(conditions.seed)
    config = attention_config(name, length, settings.heads)
    attention: Attention = config.build(settings.dim, settings.heads).to(conditions.device)
    states = torch.randn(1, length, settings.dim, device=conditions.device, requires_grad=True)
    tokens = Tokens.of_states(states)

    def forward() -> Tensor:
        with conditions.autocast():
            output: Tensor = attention(tokens)
        return output

    def work() -> None:
        forward().float().sum().backward()
        attention.zero_grad()
        states.grad = None

    attention.eval()  # the update of centroids is no part of a forward pass
    with torch.no_grad():
        operations = count(forward)
    attention.train()
    work()  # what libraries keep from their first call is no cost of the length
    memory, note = try_peak(work, conditions.device)
    if note:
        return Row({"name": name, "length": length}, note=note)
    seconds = []
    for _ in range(settings.repeats):
        check()
        seconds.append(clock(work, conditions.device))
    values = {"name": name, "length": length, "operations": operations}
    return Row({**values, "seconds": min(seconds), "memory": memory or None})


RANDOM, TRAINED = "random", "trained"
EXACT: Mapping[str, AttentionConfig] = {
    "softmax": VanillaAttentionConfig(),
    "Gaussian kernel": KernelizedAttentionConfig(),
}
"""What is approximated."""
MEAN = "v_mean"
"""Baseline without features."""

Build = Callable[[int, int, int], AttentionConfig]
"""Settings of an approximation with a number of features, for a length, with a seed."""
APPROXIMATIONS: Mapping[str, tuple[str, Build]] = {
    "performer": ("softmax", lambda count, _, seed: PerformerAttentionConfig(features=count, seed=seed)),
    "linformer, unreduced": (
        "softmax",
        lambda count, length, _: LinformerAttentionConfig(rank=count, length=length, unreduced=True),
    ),
    "nystrom": ("softmax", lambda count, _, __: NystromAttentionConfig(landmarks=count, kernel=0)),
    "nystrom, 15 iterations": (
        "softmax",
        lambda count, _, __: NystromAttentionConfig(landmarks=count, kernel=0, iterations=15),
    ),
    "informer": (
        "softmax",
        lambda count, length, seed: InformerAttentionConfig(factor=count / math.log(max(2, length)), seed=seed),
    ),
    "skeinformer": ("softmax", lambda count, _, seed: SkeinformerAttentionConfig(samples=count, seed=seed)),
    "skeinformer, uniform": (
        "softmax",
        lambda count, _, seed: SkeinformerAttentionConfig(samples=count, seed=seed, sampling="uniform"),
    ),
    MEAN: ("softmax", lambda _, __, ___: VMeanAttentionConfig()),
    "skyformer": ("Gaussian kernel", lambda count, _, seed: SkyformerAttentionConfig(landmarks=count, seed=seed)),
    "skyformer, 15 iterations": (
        "Gaussian kernel",
        lambda count, _, seed: SkyformerAttentionConfig(landmarks=count, seed=seed, iterations=15, regularization=1e-3),
    ),
}
"""What each approximates, and its settings; 15 iterations have less regularization too."""


@dataclass(frozen=True)
class LayerInput:
    """States (1, length, dim) of one document, and the joint projection of the attention that they enter."""

    states: Tensor
    weight: Tensor
    bias: Tensor
    heads: int


def measure_approximations(
    settings: ApproximationConfig, conditions: Conditions, steps: Steps, trained: Sequence[LayerInput] = ()
) -> Result:
    """Measure every approximation with random weights, and with those of a run, if any, at the lengths that it has."""
    cases: dict[tuple[int, str], list[LayerInput]] = {}
    for length in settings.lengths:
        cases[length, RANDOM] = [*random_inputs(settings, length, conditions)]
        if long_enough := [layer for layer in trained if layer.states.size(1) >= length]:
            cases[length, TRAINED] = long_enough
    steps.total = len(cases) * len(APPROXIMATIONS)
    rows: list[Row] = []
    for (length, weights), layers in cases.items():
        for name, (exact, build) in APPROXIMATIONS.items():
            steps()
            labels = {"weights": weights, "length": length, "approximation": name, "exact": exact}
            for features in (size for size in settings.features if size <= length):
                errors = [
                    spectral_error(build(features, length, seed), EXACT[exact], layer, length, seed)
                    for seed, layer in enumerate(layers)
                ]
                measured = {"error": fmean(errors), "deviation": pstdev(errors), "measured": len(errors)}
                rows.append(Row({**labels, "features": features, **measured}))
    # A column for every number of features.
    columns = [Column(f"{count:,}", f"features_{count}", ".3f") for count in settings.features]
    lines = []
    for length, weights in sorted(cases, key=lambda case: case[1]):
        for name in APPROXIMATIONS:
            labels = {"weights": weights, "length": length, "approximation": name}
            of_row = {f"features_{row['features']}": row["error"] for row in where(rows, labels)}
            lines.append(Row({**labels, "exact": APPROXIMATIONS[name][0], **of_row}))
    table = make_table("approximation", lines, settings.model_dump(), columns=columns)
    return Result({"approximation": rows}, [table])


def random_inputs(settings: ApproximationConfig, length: int, conditions: Conditions) -> Iterator[LayerInput]:
    """Draw standard normal states, and weights as they are before training, once for each repetition."""
    dim = settings.heads * settings.head_dim
    for repeat in range(settings.repeats):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(conditions.seed + repeat)
            states, project = torch.randn(1, length, dim), nn.Linear(dim, 3 * dim)
        states, weight, bias = (part.detach().to(conditions.device) for part in (states, project.weight, project.bias))
        yield LayerInput(states, weight, bias, settings.heads)


@torch.inference_mode()
def spectral_error(
    approximate: AttentionConfig, exact: AttentionConfig, layer: LayerInput, length: int, seed: int
) -> float:
    """Relative spectral error of one attention on the first tokens of a document, averaged over the heads."""
    dim = layer.states.size(2)
    outputs = []
    for config in (approximate, exact):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            attention = config.build(dim, layer.heads).to(layer.states.device).eval()
        rows = attention.project.weight.size(0)  # values come last, and may be alone
        attention.project.weight.copy_(layer.weight[-rows:])
        attention.project.bias.copy_(layer.bias[-rows:])
        attention.out.weight.copy_(torch.eye(dim))  # no output projection
        attention.out.bias.zero_()
        mixed = attention(Tokens.of_states(layer.states[:, :length]))
        outputs.append(mixed[0].unflatten(1, (layer.heads, -1)).transpose(0, 1))  # (heads, length, head_dim)
    mixed, expected = outputs
    errors = torch.linalg.matrix_norm(mixed - expected, ord=2) / torch.linalg.matrix_norm(expected, ord=2)
    return float(errors.mean())


def trained_inputs(loaded: LoadedModel, documents: int) -> Iterator[LayerInput]:
    """Encode validation documents, evenly spread, and yield what enters each attention.

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
        RecipeError: If no attention of the encoder has queries, keys and values.
    """
    encoder, given = loaded.model.encoder, 0
    layers = [layer.attention for layer in encoder.layers if isinstance(layer, EncoderLayer)]
    for batch in validation_batches(loaded, documents):
        inputs: list[tuple[Attention, Tensor]] = []

        def note(attention: Attention, args: tuple[Tokens], noted: list[tuple[Attention, Tensor]] = inputs) -> None:
            noted.append((attention, args[0].states.clone()))

        with ExitStack() as hooks, torch.no_grad():
            for attention in layers:
                hooks.enter_context(attention.register_forward_pre_hook(note))
            hooks.callback(setattr, encoder, "chunked", encoder.chunked)
            encoder.chunked = False  # documents are read as a whole
            batch = batch.to(loaded.device)
            encoder(batch.ids, batch.mask, batch.sentences)
        for attention, states in inputs:
            weight, bias = attention.project.weight.detach(), attention.project.bias.detach()
            if weight.size(0) == 3 * weight.size(1):  # with queries, keys and values from one projection
                given += 1
                yield LayerInput(states.float(), weight.float(), bias.float(), attention.heads)
    if not given:
        raise RecipeError(
            "study approximation: encoder must have a layer whose attention has queries, keys and values, got none"
        )
