"""Attentions that never compute their weights, or not from pairs of tokens, against the same weights made explicit."""

import math
from functools import singledispatch
from itertools import product
from typing import get_args

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention import routing, skeinformer
from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.attention.efficient import EfficientAttention, EfficientAttentionConfig
from sumpool.core.attention.global_tokens import GlobalTokensAttention, GlobalTokensAttentionConfig
from sumpool.core.attention.informer import InformerAttention, InformerAttentionConfig
from sumpool.core.attention.kernelized import KernelizedAttention, KernelizedAttentionConfig
from sumpool.core.attention.linear import LinearAttention, LinearAttentionConfig
from sumpool.core.attention.linformer import LinformerAttention, LinformerAttentionConfig, LinformerSharing
from sumpool.core.attention.lsh import LshAttention, LshAttentionConfig
from sumpool.core.attention.nystrom import NystromAttention, NystromAttentionConfig
from sumpool.core.attention.performer import PerformerAttention, PerformerAttentionConfig
from sumpool.core.attention.routing import RoutingAttention, RoutingAttentionConfig
from sumpool.core.attention.sinkhorn import SinkhornAttention, SinkhornAttentionConfig
from sumpool.core.attention.skeinformer import SkeinformerAttention, SkeinformerAttentionConfig
from sumpool.core.attention.skyformer import SkyformerAttention, SkyformerAttentionConfig
from sumpool.core.attention.synthesizer import SynthesizerAttention, SynthesizerAttentionConfig, SynthesizerKind
from sumpool.core.attention.v_mean import VMeanAttention, VMeanAttentionConfig
from sumpool.core.nn.low_rank import iterate_pseudo_inverse, sample_tokens
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import alone, make_tokens

CONFIGS: list[AttentionConfig] = [
    EfficientAttentionConfig(),
    *(
        GlobalTokensAttentionConfig(window=window, tokens=count)
        for window, count in ((2, 7), (16, 1), (64, 200), (300, 7))
    ),
    InformerAttentionConfig(factor=1.5),
    InformerAttentionConfig(factor=1.5, mean_over="length"),
    KernelizedAttentionConfig(),
    KernelizedAttentionConfig(normalize=True),
    LinearAttentionConfig(),
    *(
        LinformerAttentionConfig(rank=7, length=70, sharing=sharing, unreduced=unreduced)
        for sharing, unreduced in product(get_args(LinformerSharing), (False, True))
    ),
    *(
        LshAttentionConfig(bucket=bucket, hashes=hashes, local_heads=1)
        for bucket, hashes in ((8, 1), (8, 4), (3, 2), (1, 3), (100, 2))
    ),
    *(NystromAttentionConfig(landmarks=landmarks, kernel=kernel) for landmarks, kernel in product((1, 7), (0, 5))),
    PerformerAttentionConfig(features=10),
    *(RoutingAttentionConfig(clusters=clusters) for clusters in (1, 3, 4, 20)),
    *(
        SkeinformerAttentionConfig(samples=7, sampling=sampling, row_normalization=rows, reuse_pilot=reuse)
        for sampling, rows, reuse in product(
            get_args(SkeinformerAttentionConfig.model_fields["sampling"].annotation),
            get_args(SkeinformerAttentionConfig.model_fields["row_normalization"].annotation),
            (True, False),
        )
    ),
    SinkhornAttentionConfig(block=4),
    SkyformerAttentionConfig(landmarks=15),
    *(SynthesizerAttentionConfig(scores=scores, length=71) for scores in get_args(SynthesizerKind)),
    VMeanAttentionConfig(),
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_equals_explicit_weights(config: AttentionConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeinformer, "MAX_WEIGHTS", 2000)
    monkeypatch.setattr(routing, "MIN_CLUSTER_TOKENS", 6)
    attention = config.build(16, 4).double().eval()

    def naive(states: Tensor) -> Tensor:
        value = attention.project(states)[:, -16:].view(-1, 4, 4).transpose(0, 1)  # (heads, length, head_dim)
        return mix(attention, weights_of(attention, states), value)

    assert_equals_naive(attention, make_tokens(61, 30, 14, 11, 5, 2, 1, 0, pad=1e3), naive)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_documents_without_tokens_are_finite_in_single_precision(config: AttentionConfig) -> None:
    attention = config.build(16, 4)
    tokens = make_tokens(61, 5, 0, dtype=torch.float32)
    output = attention(tokens)
    assert output.isfinite().all()
    output[tokens.mask].square().sum().backward()
    assert all(part.grad is None or part.grad.isfinite().all() for part in attention.parameters())


@singledispatch
def weights_of(attention: Attention, states: Tensor) -> Tensor:
    """Weights of a document (length, dim), (heads, length, length)."""
    raise AssertionError(attention, states)


def normalise(weights: Tensor) -> Tensor:
    return weights / weights.sum(2, keepdim=True)


def gaussian(left: Tensor, right: Tensor) -> Tensor:
    return (-torch.cdist(left, right).square() / (2 * 4**0.5)).exp()


@weights_of.register
def _(attention: EfficientAttention, states: Tensor) -> Tensor:
    query, key, _ = project(attention, states)
    return query.softmax(2) @ normalise(key.exp().mT)


@weights_of.register
def _(attention: GlobalTokensAttention, states: Tensor) -> Tensor:
    indices, count = torch.arange(len(states)), attention.first_tokens
    query, key, _ = project(attention, states)
    reading = (attention.memory @ key.mT / 2).softmax(-1)
    hidden = (indices[:, None] - indices).abs() > attention.reach
    local = (query @ key.mT / 2).masked_fill(hidden, -math.inf)
    weights = torch.cat([query @ (reading @ key).mT / 2, local], dim=2).softmax(-1)
    return weights[..., count:] + weights[..., :count] @ reading


@weights_of.register
def _(attention: InformerAttention, states: Tensor) -> Tensor:
    config, count = attention.config, len(states)
    query, key, _ = project(attention, states)
    scores, size = query @ key.mT / 2, min(count, max(1, math.ceil(config.factor * math.log(count))))
    index = sample_tokens(torch.ones(1, count, dtype=torch.bool), size, config.seed, 0)[0]
    sampled = scores.gather(2, index.expand(4, count, -1))
    measured = sampled.amax(2) - sampled.sum(2) / (size if config.mean_over == "samples" else count)
    active = F.one_hot(measured.topk(size).indices, count).sum(1)[..., None]  # (heads, length, 1)
    return torch.where(active > 0, scores.softmax(2), 1 / count)


@weights_of.register
def _(attention: KernelizedAttention, states: Tensor) -> Tensor:
    query, key, _ = project(attention, states)
    return normalise(gaussian(query, key)) if attention.config.normalize else gaussian(query, key)


@weights_of.register
def _(attention: LinearAttention, states: Tensor) -> Tensor:
    query, key, _ = project(attention, states)
    return normalise((F.elu(query) + 1) @ (F.elu(key) + 1).mT)


@weights_of.register
def _(attention: LinformerAttention, states: Tensor) -> Tensor:
    query, key, _ = project(attention, states)
    own = attention.project_values
    parts = attention.project_keys, attention.project_keys if own is None else own
    keys, values = (part[..., : len(states)].expand(4, -1, -1) for part in parts)
    if attention.unreduced:
        return (query @ key.mT / 2).softmax(2) @ keys.mT @ keys
    return (query @ (keys @ key).mT / 2).softmax(2) @ values


@weights_of.register
def _(attention: LshAttention, states: Tensor) -> Tensor:
    count, size = len(states), attention.bucket
    query, _ = attention.project(states).view(-1, 2, 4, 4).permute(1, 2, 0, 3)
    near = torch.arange(count) // size
    chunks = [(near - near[:, None]).abs()] * 4  # chunks between keys and queries, in each round of a head
    for head in range(attention.hash_heads):
        projected = query[head] @ attention.rotations[..., : -(-count // (2 * size))]  # (rounds, length, directions)
        order = torch.cat([projected, -projected], dim=2).argmax(2).argsort(dim=1, stable=True)
        chunk = order.argsort(1) // size
        chunks[head] = chunk[:, :, None] - chunk[:, None]
    visible = torch.stack([((part == 0) | (part == 1)).view(-1, count, count).any(0) for part in chunks])
    others = visible & ~torch.eye(count, dtype=torch.bool)
    visible = torch.where(others.any(2, keepdim=True), others, visible)
    scores: Tensor = query @ F.normalize(query, dim=2).mT / 2
    return scores.masked_fill(~visible, -math.inf).softmax(2)


@weights_of.register
def _(attention: NystromAttention, states: Tensor) -> Tensor:
    query, key, _ = project(attention, states)
    count = min(attention.config.landmarks, len(states))
    of_segment = F.one_hot(torch.arange(len(states)) * count // len(states), count).double()
    average = of_segment.T / of_segment.sum(0)[:, None]  # (landmarks, length)
    left, middle, right = (
        (first @ second.mT / 2).softmax(2)
        for first, second in ((query, average @ key), (average @ query, average @ key), (average @ query, key))
    )
    weights = left @ iterate_pseudo_inverse(middle, attention.config.iterations) @ right
    if attention.convolution is None:
        return weights
    kernel = attention.convolution.kernel_size[0]
    shift = torch.arange(len(states)) - torch.arange(len(states))[:, None] + kernel // 2  # (queries, keys)
    inside = (shift >= 0) & (shift < kernel)
    return weights + attention.convolution.weight[:, 0, shift.clamp(0, kernel - 1)] * inside


@weights_of.register
def _(attention: PerformerAttention, states: Tensor) -> Tensor:
    query, key = (part / 4**0.25 for part in project(attention, states)[:2])
    query, key = (
        (part @ attention.directions.T - part.square().sum(2, keepdim=True) / 2).exp() for part in (query, key)
    )
    return normalise(query @ key.mT)


@weights_of.register
def _(attention: RoutingAttention, states: Tensor) -> Tensor:
    query, key = (F.layer_norm(part, (4,)) for part in project(attention, states)[:2])
    count, memberships = len(states), torch.zeros(4, len(states), 1)
    size, weights = min(count, max(6, math.ceil(count / attention.clusters))), torch.zeros(4, count, count).double()
    for head in range(4):
        for centroid in F.normalize(attention.centroids[head], dim=1):
            products = (((part[head] @ centroid) * 2**12).round() for part in (query, key))
            queries, keys = (part.argsort(descending=True, stable=True)[:size] for part in products)
            weights[head, queries[:, None], keys] += (query[head, queries] @ key[head, keys].T / 2).softmax(1)
            memberships[head, queries] += 1
    return weights / memberships.clamp(min=1)


@weights_of.register
def sinkhorn_weights(attention: SinkhornAttention, states: Tensor, noise: Tensor | float = 0.0) -> Tensor:
    """A softmax over the keys of the own block, and over mixtures of the keys at each place of the blocks."""
    block, place = torch.arange(len(states)) // attention.block_size, torch.arange(len(states)) % attention.block_size
    means = torch.stack([part.mean(0) for part in states.split(attention.block_size)])
    query, key = attention.sort(means).view(-1, 2, 4, 4).permute(1, 2, 0, 3)
    permutation = ((query @ key.mT / 2 + noise) / attention.temperature).exp()  # relaxed, (heads, blocks, blocks)
    for _ in range(attention.iterations):
        permutation = normalise(permutation / permutation.sum(1, keepdim=True))
    query, key, _ = project(attention, states)
    # Parts of tokens in the mixture of each place that a query sees, (heads, queries, places, length).
    parts = permutation[:, block[:, None], block][:, :, None] * (place == place.unique()[:, None])
    shares = parts.sum(3, keepdim=True)
    scores = (parts / shares) @ key[:, None] @ query[..., None] / 2
    own = (query @ key.mT / 2).exp() * (block == block[:, None])
    return normalise(own + (parts * scores.exp()).sum(2))


@weights_of.register
def _(attention: SkeinformerAttention, states: Tensor) -> Tensor:
    config, count = attention.config, len(states)
    query, key, value = project(attention, states)
    full, mask, size = (query @ key.mT / 2).exp(), torch.ones(1, count, dtype=torch.bool), min(config.samples, count)
    exact = normalise(full)
    pilot = sample_tokens(mask, size, config.seed, 0)[0][0]
    index, _, odds = (part[0] for part in attention._draw(exact[None, :, pilot], value[None], mask, config.seed))
    times = F.one_hot(index, count)  # (heads, samples, length)
    if config.row_normalization in ("none", "unweighted"):
        weights = exact * (times / odds[..., None]).sum(1)[:, None]
    else:
        drawn = times.sum(1)[:, None] > 0  # (heads, 1, length)
        mean = (full.log() * drawn).sum(2, keepdim=True).div(size).exp()
        others = mean if config.row_normalization == "adaptive" else torch.zeros_like(mean)
        weights = normalise(torch.where(drawn, full, others))
    return weights.index_copy(1, pilot, exact[:, pilot]) if config.reuse_pilot else weights


@weights_of.register
def _(attention: SkyformerAttention, states: Tensor) -> Tensor:
    """The inverse is iterated as in the released code, from the column sums of each matrix."""
    query, key, _ = project(attention, states)
    config, mask, half = attention.config, torch.ones(1, len(states), dtype=torch.bool), attention.config.landmarks // 2
    drawn = (sample_tokens(mask, size, config.seed, i) for i, size in enumerate((half, config.landmarks - half)))
    queries, keys = (index[exists] for index, exists in drawn)
    landmarks = torch.cat([query[:, queries], key[:, keys]], dim=1)
    identity = torch.eye(landmarks.size(1)).double()
    middle = gaussian(landmarks, landmarks) + attention.config.regularization * identity
    root = middle.sum(2).rsqrt().diag_embed()
    middle = root @ middle @ root
    inverse = middle.mT / middle.abs().sum(1).amax(1)[:, None, None]
    for _ in range(attention.config.iterations):
        product = middle @ inverse
        inverse = 0.25 * inverse @ (13 * identity - product @ (15 * identity - product @ (7 * identity - product)))
    return gaussian(query, landmarks) @ root @ inverse @ root @ gaussian(landmarks, key)


@weights_of.register
def _(attention: SynthesizerAttention, states: Tensor) -> Tensor:
    """Position by position."""
    scores = torch.empty(4, len(states), len(states), dtype=torch.float64)
    factors = list(attention.factors)
    for head, (position, state) in product(range(4), enumerate(states)):
        if attention.widen is None:
            row = factors[0][head, position] if len(factors) == 1 else factors[1][head] @ factors[0][head, position]
        else:
            query = attention.widen(state).relu()[4 * head : 4 * head + 4]
            row = query @ factors[0][head]
            if len(factors) == 2:
                row = torch.kron(row, query @ factors[1][head])
        scores[head, position] = row[: len(states)]
    return scores.softmax(2)


@weights_of.register
def _(attention: VMeanAttention, states: Tensor) -> Tensor:
    del attention
    return torch.full((4, len(states), len(states)), 1 / len(states), dtype=torch.float64)


def test_sinkhorn_adds_noise_in_training_that_does_not_depend_on_the_batch() -> None:
    attention = SinkhornAttention(SinkhornAttentionConfig(block=4), 16, 4).double()
    tokens = make_tokens(40, 13, length=50, pad=1e3)

    def attend(batch: Tokens, seed: int) -> Tensor:
        torch.manual_seed(seed)
        mixed: Tensor = attention(batch)
        return mixed

    noisy = attend(tokens, 1)
    assert (noisy - attend(tokens, 2))[tokens.mask].abs().max() > 1e-3
    for number, real in enumerate((40, 13)):
        torch.testing.assert_close(noisy[number, :real], attend(alone(tokens, number), 1)[0], atol=1e-10, rtol=0)
    torch.manual_seed(1)
    states, noise = tokens.states[0, :40], attention._noise(10, torch.device("cpu")).double()
    expected = mix(attention, sinkhorn_weights(attention, states, noise), project(attention, states)[2])
    torch.testing.assert_close(noisy[0, :40], expected, atol=1e-10, rtol=0)
    noise = attention._noise(200, torch.device("cpu"))
    assert noise.isfinite().all()
    assert abs(noise.mean() - 0.5772) < 0.01, "the mean of a Gumbel distribution"
    assert abs(noise.var() - torch.pi**2 / 6) < 0.03
