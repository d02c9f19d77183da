import math
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.settings import kinds
from sumpool.tasks.language_modeling.config import LanguageModelConfig
from sumpool.tasks.language_modeling.model import Hourglass, LanguageModel, TextStack, as_tokens

VOCABULARY = 11
SMALL: dict[str, Any] = {"dim": 16, "heads": 2, "feed_forward": 24, "layers": [1, 2, 1], "length": 64}
SOURCES: dict[str, list[dict[str, Any]]] = {
    "plain": [],
    "fixed": [{"kind": "fixed", "size": 3}],
    "whitespace": [{"kind": "whitespace"}],
    "unigram": [{"kind": "unigram", "hidden": 8}],
    "entropy": [{"kind": "entropy", "hidden": 8}],
    "gumbel": [{"kind": "gumbel", "hidden": 8}],
    "gumbel, sampled": [{"kind": "gumbel", "hidden": 8, "inference": "sample"}],
    "none": [{"kind": "none"}],
    "random": [{"kind": "random", "rate": 0.3}],
    "nested": [{"kind": "gumbel", "hidden": 8, "inference": "sample"}, {"kind": "fixed", "size": 2}],
}
FAST = ("plain", "gumbel", "nested")
every_source = pytest.mark.parametrize(
    "source", [pytest.param(source, marks=[] if source in FAST else pytest.mark.slow) for source in SOURCES]
)


def build(source: str, **settings: object) -> LanguageModel:
    torch.manual_seed(1)
    boundaries = SOURCES[source]
    layers = {0: [3], 1: [1, 2, 1], 2: [1, 1, 2, 1, 1]}[len(boundaries)]
    config = LanguageModelConfig.model_validate({**SMALL, "layers": layers, "boundaries": boundaries, **settings})
    model = LanguageModel(config, VOCABULARY, torch.arange(VOCABULARY) == 5).double()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(15.0)  # weights of 0.02 would hide dependencies
    return model.eval()


def text(*lengths: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return torch.randint(1, VOCABULARY, mask.shape).masked_fill(~mask, 0), mask


def ones(ids: Tensor) -> Tensor:
    return torch.ones_like(ids, dtype=torch.bool)


def test_all_kinds_that_know_no_later_token_are_tested() -> None:
    tested = {boundaries["kind"] for source in SOURCES.values() for boundaries in source}
    assert tested | {"sentence"} == set(kinds("sumpool.core.boundaries"))


@every_source
@pytest.mark.parametrize(
    "settings", [{}, pytest.param({"combine": "last", "positions": "sinusoidal"}, marks=pytest.mark.slow)]
)
@torch.no_grad()
def test_logits_of_a_prefix_equal_those_of_the_whole_text(source: str, settings: dict[str, Any]) -> None:
    ids, mask = text(40, 40)
    model = build(source, **settings)
    whole = model.logits(ids, mask)
    boundaries = model.boundaries_of(ids, mask)
    for length in (*range(1, 10), 15, 16, 22, 31, 39, 40):
        prefix = ids[:, :length]
        torch.testing.assert_close(model.logits(prefix, ones(prefix)), whole[:, :length], atol=1e-12, rtol=0)
        assert torch.equal(model.boundaries_of(prefix, ones(prefix)), boundaries[:, :length])


@every_source
@pytest.mark.parametrize("training", [False, True])
def test_past_logits_have_no_gradient_for_later_tokens(source: str, training: bool) -> None:
    """Straight-through samples included: in training all draws are new, and dropout is off to see the rest."""
    ids, mask = text(30, 30)
    model = build(source, dropout=0, attention_dropout=0).train(training)
    embedded: list[Tensor] = []

    def record(_module: nn.Module, _arguments: tuple[Any, ...], output: Tensor) -> Tensor:
        embedded.append(output.detach().clone().requires_grad_())
        return embedded[-1]

    model.embed.register_forward_hook(record)
    for last in (0, 7, 18):
        logits = model.logits(ids, mask)
        (gradient,) = torch.autograd.grad(
            (logits[:, : last + 1] * torch.randn_like(logits[:, : last + 1])).sum(), embedded[-1]
        )
        assert not gradient[:, last + 1 :].any()
        assert gradient[:, last].any()


@every_source
@pytest.mark.parametrize("training", [False, True])
def test_texts_are_independent_of_padding_and_batch_mates(source: str, training: bool) -> None:
    ids, mask = text(31, 12, 1)
    model = build(source, dropout=0, attention_dropout=0).train(training)
    torch.manual_seed(3)
    together = model.logits(ids, mask)
    for row, length in enumerate((31, 12, 1)):
        alone = ids[row : row + 1, :length]
        torch.manual_seed(3)
        torch.testing.assert_close(model.logits(alone, ones(alone))[0], together[row, :length], atol=1e-12, rtol=0)


def test_boundaries_are_those_of_their_source() -> None:
    ids, mask = text(20, 13)
    places = torch.arange(20)
    fixed, spaces = (build(source).boundaries_of(ids, mask) for source in ("fixed", "whitespace"))
    assert torch.equal(fixed, ((places + 1) % 3 == 0) & mask)
    assert torch.equal(spaces, (ids == 5) & mask)
    assert not build("none").boundaries_of(ids, mask).any()
    assert torch.equal(build("plain").boundaries_of(ids, mask), mask)
    random = LanguageModelConfig.model_validate({**SMALL, "boundaries": SOURCES["random"], "seed": 4})
    long, full = text(4000)
    drawn = LanguageModel(random, VOCABULARY).eval().boundaries_of(long, full)
    assert drawn.double().mean().item() == pytest.approx(0.3, abs=0.03)
    assert not torch.equal(drawn, build("random").boundaries_of(long, full))
    for source in ("random", "gumbel, sampled"):  # whose draws are new in training
        model = build(source)
        assert torch.equal(model.boundaries_of(ids, mask), model.boundaries_of(ids, mask))
        model.train()
        assert not torch.equal(model.boundaries_of(ids, mask), model.boundaries_of(ids, mask))


@every_source
def test_scores_are_those_of_the_logits(source: str) -> None:
    ids, mask = text(25, 14)
    target = text(26, 15)[0][:, 1:].masked_fill(~mask, 0)
    model = build(source)
    scores, losses, metrics = model(ids, mask, torch.zeros_like(ids), target, ids // 3)
    expected = model.logits(ids, mask).log_softmax(2).gather(2, target[..., None]).squeeze(2).masked_fill(~mask, 0.0)
    torch.testing.assert_close(scores.log_prob, expected.detach(), atol=1e-12, rtol=0)
    torch.testing.assert_close(scores.nll, -expected.sum(), atol=1e-10, rtol=0)
    assert scores.distribution is not None
    torch.testing.assert_close(
        scores.distribution(slice(2, 5)), model.logits(ids, mask).log_softmax(2)[:, 2:5], atol=1e-12, rtol=0
    )
    if SOURCES[source]:
        ends = model.boundaries_of(ids, mask).sum().clamp(min=1)
        assert metrics["shortening"].item() == pytest.approx((mask.sum() / ends).item())
    assert all(loss.dim() == 0 for loss in losses.values())


@every_source
def test_every_parameter_learns(source: str) -> None:
    ids, mask = text(40, 33)
    model = build(source).train()
    scores, losses, _ = model(ids, mask, ids, ids.roll(-1, 1).masked_fill(~mask, 0), ids // 4)
    assert set(losses) == set(model.config.boundary_losses)
    (scores.nll + sum(losses.values())).backward()
    unused = {name for name, part in model.named_parameters() if part.grad is None or not part.grad.any()}
    assert unused <= {"layers.inner.before.layers.0.attention.distance.weight"}, unused


def test_entropy_boundaries_learn_the_spikes_of_the_model() -> None:
    ids, mask = text(40, 33)
    model = build("entropy", dropout=0, attention_dropout=0).train()
    _, losses, _ = model(ids, mask, ids, ids)
    log_probs = model.logits(ids, mask).log_softmax(2).detach()
    entropy = -(log_probs.exp() * log_probs).sum(2)
    tokens = as_tokens(model.embed(ids, mask, torch.arange(40).expand(2, -1)), ids, mask)
    inner, segmentation = model.layers.segment(tokens, (model.content_bias, model.position_bias))  # type: ignore[arg-type]
    assert segmentation.spike_loss is not None
    logits = model.layers.boundaries.predictor(inner)  # type: ignore[operator]
    labels = [[all(row[t] > row[s] for s in range(max(0, t - 2), t)) for t in range(40)] for row in entropy.tolist()]
    terms = F.binary_cross_entropy_with_logits(logits, torch.tensor(labels).double(), reduction="none")
    expected = sum(terms[row, :length].mean() for row, length in enumerate((40, 33))) / 2
    torch.testing.assert_close(losses["boundaries"], expected)


def test_unigram_boundaries_have_no_target_at_the_last_token() -> None:
    """Whether the text goes on with the same segment is not known there."""
    ids, mask = text(20, 14)
    model = build("unigram").eval()
    phrases = torch.arange(20).expand(2, -1) // 3
    last = phrases.clone()
    last[0, 19], last[1, 13] = 99, 98
    losses = [model(ids, mask, ids, ids, part)[1]["boundaries"] for part in (phrases, last)]
    assert losses[0] != losses[1]  # the token before the last does have one
    first = phrases.clone()
    first[0, 0], first[1, 0] = 77, 78
    assert model(ids, mask, ids, ids, first)[1]["boundaries"] != losses[0]
    short = model(ids[:1, :1], mask[:1, :1], ids[:1, :1], ids[:1, :1], phrases[:1, :1])[1]["boundaries"]
    assert short == 0


def test_activations_recomputed_give_the_same_gradients() -> None:
    ids, mask = text(40, 33)
    gradients = []
    for checkpointed in (False, True):
        model = build("nested").train()
        model.checkpoint_activations(checkpointed)
        torch.manual_seed(7)
        model(ids, mask, ids, ids)[0].nll.backward()
        gradients.append([part.grad for part in model.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=0)


@pytest.mark.parametrize("source", ["entropy", "nested"])
def test_autocast_trains(source: str) -> None:
    ids, mask = text(40, 33)
    model = build(source).float().train()
    with torch.autocast("cpu", torch.bfloat16):
        scores, losses, _ = model(ids, mask, ids, ids)
    (scores.nll + sum(losses.values())).backward()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in model.parameters())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": [1, 2]}, "layers must have 1 numbers for 0 boundaries, got \\[1, 2\\]"),
        ({"layers": [1], "heads": 3}, "heads must divide dim = 16, got 3"),
        ({"layers": [1], "dim": 3, "heads": 3}, "dim must be even for relative positions, got 3"),
        (
            {"boundaries": [{"kind": "sentence"}]},
            r"boundaries\[0\] must be known without later tokens, got kind sentence",
        ),
        (
            {"boundaries": [{"kind": "gumbel", "inference": "expected"}]},
            r"boundaries\[0\] must be known .* got kind gumbel with inference: expected",
        ),
        (
            {"layers": [1] * 5, "boundaries": [{"kind": "fixed"}, {"kind": "unigram"}]},
            r"boundaries\[1\] must need no targets, only boundaries\[0\] has any, got kind unigram",
        ),
    ],
)
def test_settings_that_do_not_suit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LanguageModelConfig.model_validate({**SMALL, **settings})


@pytest.mark.parametrize("settings", [{"layers": [12]}, {"layers": [2, 8, 2], "boundaries": [{"kind": "whitespace"}]}])
def test_the_published_sizes_have_41_million_parameters(settings: dict[str, Any]) -> None:
    with torch.device("meta"):
        model = LanguageModel(LanguageModelConfig.model_validate(settings), 27, torch.zeros(27, dtype=torch.bool))
    assert sum(part.numel() for part in model.parameters()) == pytest.approx(41e6, rel=0.02)


def build_hourglass(layers: list[int], *boundaries: dict[str, object], combine: str = "mean") -> Hourglass:
    torch.manual_seed(0)
    sizes = {"dim": 8, "heads": 2, "feed_forward": 8, "layers": layers, "positions": "sinusoidal"}
    config = LanguageModelConfig.model_validate({**sizes, "boundaries": boundaries, "combine": combine})
    separators = torch.arange(10) == 4
    return Hourglass(config, nn.Embedding(10, 8), separators).double().eval()


def naive(model: Hourglass, states: Tensor, ends: list[bool]) -> Tensor:
    """Shorten and restore one text (length, dim) with loops; the outer levels have no layers."""
    assert model.inner is not None
    segments: list[Tensor] = [model.null]
    members: list[Tensor] = []
    received, complete = [], 0
    for state, end in zip(states, ends, strict=True):
        members.append(state)
        if end:
            segments.append(torch.stack(members).mean(0) if model.combine == "mean" else members[-1])
            members, complete = [], complete + 1
        received.append(complete)
    output: Tensor = model.inner.before(model.norm(torch.stack(segments))[None], None, False)[0]
    return states + output[received]


@pytest.mark.parametrize(("middle", "combine"), [(0, "mean"), (2, "mean"), (2, "last")])
def test_segments_are_pooled_and_restored_as_by_loops(middle: int, combine: str) -> None:
    model = build_hourglass([0, middle, 0], {"kind": "whitespace"}, combine=combine)
    ids = torch.tensor([[1, 2, 4, 3, 3, 4, 4, 5], [4, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0]])
    mask = ids > 0
    states = torch.randn(3, 8, 8).double()
    lengths: list[int] = []  # of what the inner layers run over
    assert model.inner is not None
    model.inner.before.register_forward_pre_hook(lambda _, call: lengths.append(call[0].size(1)))
    output, _, metrics = model(as_tokens(states, ids, mask), None, False)
    for row, length in enumerate((8, 4, 2)):
        expected = naive(model, states[row, :length], (ids[row, :length] == 4).tolist())
        torch.testing.assert_close(output[row, :length], expected, atol=1e-12, rtol=0)
    assert metrics["shortening"].item() == pytest.approx(14 / 4)
    assert lengths[0] == 1 + 3


def test_nested_segments_count_the_null_state_as_a_segment() -> None:
    model = build_hourglass([0, 0, 1, 0, 0], {"kind": "fixed", "size": 2}, {"kind": "fixed", "size": 3})
    assert model.inner is not None
    states = torch.randn(1, 9, 8).double()
    ids = torch.ones(1, 9, dtype=torch.long)
    output, _, metrics = model(as_tokens(states, ids, ids > 0), None, False)
    shortened = torch.cat([model.null[None], states[0, :8].view(4, 2, 8).mean(1)])
    inner = naive(model.inner, model.norm(shortened), [False, False, True, False, False])
    expected = states[0] + inner[[0, 1, 1, 2, 2, 3, 3, 4, 4]]
    torch.testing.assert_close(output[0], expected, atol=1e-12, rtol=0)
    assert set(metrics) == {"shortening", "shortening_inside"}


def build_stack(**settings: float) -> tuple[TextStack, tuple[Tensor, Tensor]]:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"dim": 8, "heads": 2, "feed_forward": 12, "layers": [2], "positions": "relative"}
    config = LanguageModelConfig.model_validate({**sizes, **settings})
    return TextStack(config, 2).double().eval(), (torch.randn(2, 4).double(), torch.randn(2, 4).double())


@torch.no_grad()
def test_distances_have_the_frequencies_of_transformer_xl() -> None:
    stack, biases = build_stack()
    seen: list[Tensor] = []
    projection = stack.get_submodule("layers.0.attention.distance")
    projection.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    stack(torch.randn(1, 5, 8).double(), biases, False)
    for sinusoids in seen:
        angles = [[distance / 10_000 ** (2 * pair / 8) for pair in range(4)] for distance in range(5)]
        expected = [[*map(math.sin, row), *map(math.cos, row)] for row in angles]
        torch.testing.assert_close(sinusoids, torch.tensor(expected).double(), atol=1e-6, rtol=0)
    assert len(seen) == 1


def test_sinusoids_of_distances_are_dropped_in_training_only() -> None:
    """The only dropout here, so that nothing else makes the outputs differ."""
    stack, biases = build_stack(dropout=0, attention_dropout=0)
    states = torch.randn(1, 20, 8).double()
    expected = stack(states, biases, False)
    assert torch.equal(stack.train()(states, biases, False), expected)
    stack.dropout.p = 0.5
    outputs = [stack(states, biases, False) for _ in range(2)]
    assert not torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0][:, 0], expected[:, 0])  # which attends to itself only
    assert torch.equal(stack.eval()(states, biases, False), expected)
