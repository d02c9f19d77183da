"""Error of attentions that approximate others, by number of features and by length (Chen et al., 2021, Figure 1).

The error is the spectral norm of the difference from the exact outputs of a head, in proportion to the spectral norm of
these, before the output projection; means over heads, layers, documents and draws. Weights and states are random, or
those of the encoder layers of a trained run, whose attentions need queries, keys and values, on validation documents.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev

import torch
from torch import Tensor, nn

from sumpool.bench.measures import Steps
from sumpool.bench.results import Column, Result, Row, unique, where
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
from sumpool.data.batches import Batch
from sumpool.errors import RecipeError
from sumpool.inference.loading import LoadedModel
from sumpool.progress import Check, Report, no_op
from sumpool.studies.config import ApproximationConfig
from sumpool.studies.sparsity import validation_batches
from sumpool.studies.study import make_table

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
    settings: ApproximationConfig,
    conditions: Conditions,
    report: Report = no_op,
    check: Check = no_op,
    trained: Sequence[LayerInput] = (),
) -> Result:
    """Measure every approximation with random weights, and with those of a run, if any, at the lengths that it has."""
    inputs = {length: {RANDOM: [*random_inputs(settings, length, conditions)]} for length in settings.lengths}
    for length, by_weights in inputs.items():
        long_enough = [layer for layer in trained if layer.states.size(1) >= length]
        if long_enough:
            by_weights[TRAINED] = long_enough
    cases = [(length, weights) for length, by_weights in inputs.items() for weights in by_weights]
    steps = Steps(len(cases) * len(APPROXIMATIONS), report, check)
    rows: list[Row] = []
    for length, weights in cases:
        for name in APPROXIMATIONS:
            steps()
            rows += _rows(name, weights, length, inputs[length][weights], settings)
    steps.finish()
    return approximation_result(rows, settings)


def approximation_result(rows: Sequence[Row], settings: ApproximationConfig) -> Result:
    """Table with a column for every number of features."""
    columns = [Column(f"{count:,}", f"features_{count}", ".3f") for count in settings.features]
    lines = []
    for weights in unique(rows, "weights"):
        for length in unique(where(rows, {"weights": weights}), "length"):
            for name in APPROXIMATIONS:
                labels = {"weights": weights, "length": length, "approximation": name}
                errors = {f"features_{row['features']}": row["error"] for row in where(rows, labels)}
                lines.append(Row({**labels, "exact": APPROXIMATIONS[name][0], **errors}))
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
    mixed, expected = (_outputs(config, layer, length, seed) for config in (approximate, exact))
    errors = torch.linalg.matrix_norm(mixed - expected, ord=2) / torch.linalg.matrix_norm(expected, ord=2)
    return float(errors.mean())


def _outputs(config: AttentionConfig, layer: LayerInput, length: int, seed: int) -> Tensor:
    """Outputs of an attention with the weights of a layer, before the output projection: (heads, length, head_dim)."""
    dim = layer.states.size(2)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        attention = config.build(dim, layer.heads).to(layer.states.device).eval()
    rows = attention.project.weight.size(0)  # values come last, and may be alone
    attention.project.weight.copy_(layer.weight[-rows:])
    attention.project.bias.copy_(layer.bias[-rows:])
    attention.out.weight.copy_(torch.eye(dim))
    attention.out.bias.zero_()
    states = layer.states[:, :length]
    mixed = attention(Tokens.of_states(states))
    outputs: Tensor = mixed[0].unflatten(1, (layer.heads, -1)).transpose(0, 1)
    return outputs


def _rows(
    name: str, weights: str, length: int, layers: Sequence[LayerInput], settings: ApproximationConfig
) -> Iterator[Row]:
    """Measure one approximation at one length with every number of features."""
    exact, build = APPROXIMATIONS[name]
    for count in (count for count in settings.features if count <= length):
        errors = [
            spectral_error(build(count, length, seed), EXACT[exact], layer, length, seed)
            for seed, layer in enumerate(layers)
        ]
        labels = {"weights": weights, "length": length, "approximation": name, "exact": exact, "features": count}
        yield Row({**labels, "error": fmean(errors), "deviation": pstdev(errors), "measured": len(errors)})


def trained_inputs(loaded: LoadedModel, documents: int) -> Iterator[LayerInput]:
    """Encode validation documents, evenly spread, and yield what enters each attention.

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
        RecipeError: If no attention of the encoder has queries, keys and values.
    """
    given = 0
    for batch in validation_batches(loaded, documents):
        for attention, tokens in attention_inputs(loaded, batch):
            weight, bias = attention.project.weight.detach(), attention.project.bias.detach()
            if weight.size(0) == 3 * weight.size(1):  # with queries, keys and values from one projection
                given += 1
                yield LayerInput(tokens.states.float(), weight.float(), bias.float(), attention.heads)
    if not given:
        raise RecipeError(
            "study approximation: encoder must have a layer whose attention has queries, keys and values, got none"
        )


@torch.no_grad()
def attention_inputs(loaded: LoadedModel, batch: Batch) -> list[tuple[Attention, Tokens]]:
    """Encode documents, each as a whole, and return what enters the attention of each layer."""
    encoder, inputs = loaded.model.encoder, list[tuple[Attention, Tokens]]()

    def note(attention: Attention, args: tuple[Tokens]) -> None:
        inputs.append((attention, replace(args[0], states=args[0].states.clone())))

    layers = [layer.attention for layer in encoder.layers if isinstance(layer, EncoderLayer)]
    hooks = [attention.register_forward_pre_hook(note) for attention in layers]
    chunked, encoder.chunked = encoder.chunked, False
    try:
        batch = batch.to(loaded.device)
        encoder(batch.ids, batch.mask, batch.sentences)
    finally:
        encoder.chunked = chunked
        for hook in hooks:
            hook.remove()
    return inputs
