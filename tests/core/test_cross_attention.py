"""Contract of cross-attentions, tested on every variant; each against a naive version."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.cross_attention import (
    CrossAttention,
    CrossAttentionConfig,
    CrossAttentionOutput,
    FullCrossAttention,
    FullCrossAttentionConfig,
    HeposCrossAttention,
    HeposCrossAttentionConfig,
    SentenceCrossAttention,
    SentenceCrossAttentionConfig,
    SentenceMemoryEncoder,
)
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.nn.masking import zero_padding
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from tests.core.batches import NEEDS_GPU, in_sentences, make_tokens, mask_of

KINDS = kinds("sumpool.core.cross_attention")


def build(kind: str) -> CrossAttention:
    config = config_class("sumpool.core.cross_attention", kind)()
    assert isinstance(config, CrossAttentionConfig)
    return config.build(16, 4).double().eval()


def precompute(attention: CrossAttention, memory: Tokens) -> dict[str, Tensor]:
    torch.manual_seed(2)
    return attention.precompute(memory, attention.config.build_memory_encoder(16).double().eval()(memory))


@pytest.mark.parametrize("kind", KINDS)
def test_attention_weights_reproduce_the_output(kind: str) -> None:
    attention = build(kind)
    queries = torch.randn(3, 6, 16, dtype=torch.float64)
    tokens = make_tokens(150, 22, 1)
    precomputed = precompute(attention, tokens)
    weights = attention.attention_weights(queries, precomputed, 150)  # (batch, heads, target, length)
    weights = weights * tokens.mask[:, None, None]
    torch.testing.assert_close(weights[:2].sum(-1), torch.ones(2, 4, 6, dtype=torch.float64), atol=1e-12, rtol=0)
    value = split_heads(attention.key_value(zero_padding(tokens.states, tokens.mask)).chunk(2, dim=-1)[1], 4)
    expected = attention.out(merge_heads(weights @ value))
    torch.testing.assert_close(attention(queries, precomputed).states, expected, atol=1e-12, rtol=0)


def naive(attention: HeposCrossAttention, queries: Tensor, states: Tensor) -> Tensor:
    """Attention of (target, dim) to (length, dim) of one document, head by head."""
    heads, stride = attention.heads, attention.stride
    query = attention.query(queries).view(len(queries), heads, 16 // heads)
    key, value = (part.view(len(states), heads, 16 // heads) for part in attention.key_value(states).chunk(2, dim=-1))
    mixed = torch.zeros_like(query)
    for head in range(heads):
        visible = [index for index in range(len(states)) if index % stride == head % stride]
        if visible:
            scores = query[:, head] @ key[visible, head].T / math.sqrt(query.size(2))
            mixed[:, head] = scores.softmax(-1) @ value[visible, head]
    out: Tensor = attention.out(mixed.flatten(1))
    return out


@pytest.mark.parametrize(("stride", "heads"), [(1, 4), (2, 4), (3, 2), (4, 8), (7, 4)])
def test_equals_loops_over_heads(stride: int, heads: int) -> None:
    attention = HeposCrossAttention(HeposCrossAttentionConfig(stride=stride), 16, heads).double()
    lengths = (84, 37, 2, 1, 0)  # a multiple of every stride, and too few for some heads
    tokens = make_tokens(*lengths, pad=torch.nan)
    queries = torch.randn(len(lengths), 6, 16, dtype=torch.float64)
    precomputed = attention.precompute(tokens, {})
    actual = attention(queries, precomputed).states
    for document, real in enumerate(lengths):
        expected = naive(attention, queries[document], tokens.states[document, :real])
        torch.testing.assert_close(actual[document], expected)
    for position in range(6):
        stepped = attention.step(queries[:, position : position + 1], precomputed)
        torch.testing.assert_close(stepped, actual[:, position : position + 1])


DIM, HEADS, TARGET = 16, 4, 6
SIZE = DIM // HEADS
SELECTIONS = kinds("sumpool.core.selection")
MODES = ("full", "ideal", "selection", "mix")


class AttentionWithEncoder(nn.Module):
    """One layer of cross-attention with its memory encoder, sharp enough for distinct selections."""

    def __init__(self, selection: str = "approximate", **settings: object) -> None:
        super().__init__()
        config = SentenceCrossAttentionConfig.model_validate(
            {"sentences": 3, "selection": {"kind": selection}, **settings}
        )
        self.memory_encoder = config.build_memory_encoder(DIM)
        self.layer = SentenceCrossAttention(config, DIM, HEADS)
        with torch.no_grad():
            self.layer.query.weight *= 4
        self.double()

    def forward(self, queries: Tensor, memory: Tokens, mask: Tensor | None = None) -> CrossAttentionOutput:
        output: CrossAttentionOutput = self.layer(
            queries, self.layer.precompute(memory, self.memory_encoder(memory)), mask
        )
        return output

    def selection_parameters(self) -> dict[str, nn.Parameter]:
        """Parameters of the approximate selection."""
        parts = {"memory_encoder": self.memory_encoder, "selection": self.layer.selection}
        return {f"{part}.{name}": p for part, module in parts.items() for name, p in module.named_parameters()}


@pytest.fixture
def memory() -> Tokens:
    """Three documents of 9, 3 and no sentences, numbered with gaps, nan in their padding."""
    return in_sentences(make_tokens(36, 3, 0, length=40, pad=torch.nan))


@pytest.fixture
def queries() -> Tensor:
    return torch.randn(3, TARGET, DIM, dtype=torch.float64)


MASK = mask_of(TARGET, 4, 2)


def word_attention(attending: AttentionWithEncoder, queries: Tensor, memory: Tokens, document: int) -> Tensor:
    """Full attention, (heads, target, real words)."""
    key = attending.layer.key_value(memory.states[document, memory.mask[document]])[:, :DIM]
    query, key = (
        part.unflatten(1, (HEADS, SIZE)).transpose(0, 1) for part in (attending.layer.query(queries[document]), key)
    )
    weights: Tensor = (query @ key.mT / SIZE**0.5).softmax(-1)
    return weights


def membership(memory: Tokens, document: int) -> Tensor:
    """One-hot sentence of each real word, (words, sentences)."""
    numbers = memory.sentences[document, memory.mask[document]]
    is_member: Tensor = numbers[:, None] == numbers.unique()
    return is_member.double()


def full_attention(layer: SentenceCrossAttention, queries: Tensor, memory: Tokens) -> Tensor:
    """Output of full cross-attention with the same weights."""
    full = FullCrossAttention(FullCrossAttentionConfig(), DIM, HEADS).double()
    full.load_state_dict({name: p for name, p in layer.state_dict().items() if "selection" not in name})
    states: Tensor = full(queries, full.precompute(memory, {})).states
    return states


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("training", [False, True])
def test_selecting_every_sentence_is_full_cross_attention(
    selection: str, training: bool, memory: Tokens, queries: Tensor
) -> None:
    attending = AttentionWithEncoder(selection, sentences=9).train(training)
    expected = full_attention(attending.layer, queries, memory)
    torch.testing.assert_close(attending(queries, memory).states, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("training", [False, True])
def test_only_the_best_sentences_are_attended_to(training: bool, memory: Tokens, queries: Tensor) -> None:
    attending = AttentionWithEncoder("ideal", sentences=2).train(training)
    actual = attending(queries, memory).states
    value = attending.layer.key_value(memory.states[0, memory.mask[0]])[:, DIM:]
    weights, member = word_attention(attending, queries, memory, 0), membership(memory, 0)
    best = (weights @ member).mean(0).topk(2).indices  # (target, 2)
    weights = weights * member.T[best].sum(1)
    mixed = weights / weights.sum(-1, keepdim=True) @ value.unflatten(1, (HEADS, SIZE)).transpose(0, 1)
    expected = attending.layer.out(mixed.transpose(0, 1).flatten(1))
    torch.testing.assert_close(actual[0], expected, atol=1e-12, rtol=0)


def test_the_setting_training_determines_the_sentences_attended_to(memory: Tokens, queries: Tensor) -> None:
    attending = {mode: AttentionWithEncoder(training=mode, sentences=2).train() for mode in MODES}
    for other in attending.values():
        other.load_state_dict(attending["full"].state_dict(), strict=False)
    ideal = AttentionWithEncoder("ideal", sentences=2).eval()
    ideal.load_state_dict(attending["full"].state_dict(), strict=False)
    states_by_mode = {mode: model(queries, memory).states for mode, model in attending.items()}
    full = full_attention(ideal.layer, queries, memory)
    torch.testing.assert_close(states_by_mode["full"], full, atol=1e-12, rtol=0)
    torch.testing.assert_close(states_by_mode["ideal"], ideal(queries, memory).states, atol=1e-12, rtol=0)
    assert torch.equal(states_by_mode["mix"], states_by_mode["ideal"])  # the first batch
    assert torch.equal(states_by_mode["selection"], attending["selection"].eval()(queries, memory).states)
    assert len({float(states[0].detach().sum()) for states in states_by_mode.values()}) == 3
    for other in attending.values():
        output = other.eval()(queries, memory, MASK)
        assert output.losses == output.metrics == {}


def test_mix_draws_for_each_document_with_falling_probability(memory: Tokens) -> None:
    memory_encoder = AttentionWithEncoder(training="mix", mix_steps=4).train().memory_encoder
    assert isinstance(memory_encoder, SentenceMemoryEncoder)
    many = replace(memory, **{name: getattr(memory, name)[[0] * 4000] for name in ("states", "mask", "sentences")})
    fractions = [float(memory_encoder(many)["ideal"].double().mean()) for _ in range(6)]
    assert fractions == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0, 0.0], abs=0.03)
    assert "ideal" not in memory_encoder.eval()(memory)
    assert int(memory_encoder.state_dict()["batches"]) == 6


def test_mix_mixes_documents(memory: Tokens, queries: Tensor) -> None:
    attending = AttentionWithEncoder(training="mix", sentences=2).train()
    shared = attending.memory_encoder(memory)
    choices = torch.tensor([[True] * 3, [False] * 3, [True, False, True]])
    ideal, selected, mixed = (
        attending.layer(queries, attending.layer.precompute(memory, {**shared, "ideal": ideal})).states
        for ideal in choices
    )
    assert not torch.equal(ideal[0], selected[0])
    assert torch.equal(mixed[0], ideal[0])
    assert torch.equal(mixed[1], selected[1])


@pytest.mark.parametrize("divergence", ["distribution", "element"])
def test_losses_and_metrics_follow_the_equations(divergence: str, memory: Tokens, queries: Tensor) -> None:
    attending = AttentionWithEncoder(divergence=divergence, temperature=0.7, sentences=2).train()
    output = attending(queries, memory, MASK)
    precomputed = attending.layer.precompute(memory, attending.memory_encoder(memory))
    vectors, project = precomputed["key"], attending.layer.selection.get_submodule("query")
    sparsity, distances, kept = [], [], []
    for document in (0, 1):
        real = int(MASK[document].sum())
        weights = (word_attention(attending, queries, memory, document) @ membership(memory, document))[:, :real]
        query = project(queries[document, :real]).view(real, HEADS, SIZE).transpose(0, 1)
        sentences = weights.size(-1)
        approximate = (query @ vectors[document, :, :sentences].transpose(1, 2) / SIZE**0.5).softmax(-1)
        target = weights ** (1 / 0.7) / (weights ** (1 / 0.7)).sum(-1, keepdim=True)
        sparsity.append(-(weights * weights.log()).sum(-1).mean())
        terms = target * (target / approximate).log()
        distances.append(terms.sum(-1).mean() if divergence == "distribution" else terms.mean())
        best = approximate.mean(0).topk(2).indices
        kept.append(weights.mean(0).gather(1, best).sum(-1).mean())
    for loss, values in (("sparsity", sparsity), ("selection", distances)):
        torch.testing.assert_close(output.losses[loss], torch.stack(values).sum() / 3, atol=1e-12, rtol=0)
    torch.testing.assert_close(output.metrics["kept"], torch.stack(kept).sum() / 3, atol=1e-12, rtol=0)
    assert not output.metrics["kept"].requires_grad


@pytest.mark.parametrize("mode", MODES)
def test_the_divergence_has_gradients_to_selection_and_decoder(mode: str, memory: Tokens, queries: Tensor) -> None:
    """Equations 13 and 14; the gradient of the whole loss is taken at a weight of 0.2."""
    attending = AttentionWithEncoder(training=mode).train()
    parameters, query = attending.selection_parameters(), attending.layer.query.weight

    def gradients(weight: float, nll: float) -> list[Tensor]:
        torch.manual_seed(4)
        output = attending(queries, memory, MASK)
        loss = nll * output.states.square().sum() + weight * output.losses["selection"]
        return list(torch.autograd.grad(loss, [*parameters.values(), query], allow_unused=True))

    *divergence, moved = gradients(1.0, 0.0)
    *whole, together = gradients(0.2, 1.0)
    for name, expected, actual in zip(parameters, divergence, whole, strict=True):
        assert name.endswith("bias") or expected.abs().max() > 1e-6, name  # most add the same to all scores
        torch.testing.assert_close(actual, 0.2 * expected, atol=1e-15, rtol=1e-12)
    *_, alone = gradients(0.0, 1.0)
    assert moved.abs().max() > 1e-6
    torch.testing.assert_close(together, alone + 0.2 * moved, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_every_parameter_gets_a_finite_gradient_in_every_mode(selection: str, memory: Tokens, queries: Tensor) -> None:
    for mode, scale in product(MODES, (1.0, 1e3)):
        attending = AttentionWithEncoder(selection, training=mode).train()
        states = memory.states.masked_fill(~memory.mask[..., None], torch.nan).requires_grad_()
        output = attending((scale * queries).requires_grad_(), memory.with_states(states), MASK)
        (output.states.square().sum() + output.losses["selection"] + output.losses["sparsity"]).backward()
        assert states.grad is not None
        assert states.grad.isfinite().all()
        for name, parameter in attending.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name


BEAMS = 5
LENGTHS = (203, 61, 0, 7)


@pytest.fixture
def long_memory() -> Tokens:
    """Documents of 20, 11, no and 4 sentences that grow ever longer, nan in their padding."""
    return in_sentences(make_tokens(*LENGTHS, length=208, pad=torch.nan))


@pytest.fixture
def beam_queries() -> Tensor:
    """Queries of beams that select different sentences, the last two the same."""
    queries_of_steps = 4 * torch.randn(len(LENGTHS), BEAMS, DIM, dtype=torch.float64)
    queries_of_steps[:, -1] = queries_of_steps[:, -2]
    return queries_of_steps


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_step_is_the_same_as_forward(selection: str, long_memory: Tokens, beam_queries: Tensor) -> None:
    for sentences in (1, 2, 8, 50):
        layer = AttentionWithEncoder(selection, sentences=sentences).eval().layer
        precomputed = precompute(layer, long_memory)
        stepped = layer.step(beam_queries, precomputed)
        torch.testing.assert_close(stepped, layer(beam_queries, precomputed).states, atol=1e-12, rtol=0)


def test_only_selected_sentences_are_read(long_memory: Tokens, beam_queries: Tensor) -> None:
    layer = AttentionWithEncoder(sentences=2).eval().layer
    precomputed = precompute(layer, long_memory)
    precomputed = {name: tensor[:1] for name, tensor in precomputed.items()}
    expected = layer.step(beam_queries[:1], precomputed)
    queries = beam_queries[:1]
    selected = layer._top_sentences(layer.selection(queries, layer._split_query(queries), precomputed)).any(1)
    unread = ~selected.gather(1, precomputed["index"])[0]
    assert unread[: LENGTHS[0]].any()
    words = precomputed["words"].clone()
    words[0, unread] = torch.nan
    assert torch.equal(layer.step(beam_queries[:1], {**precomputed, "words": words}), expected)


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=NEEDS_GPU) for kind in KINDS])
def test_gpu_and_cpu_agree(kind: str) -> None:
    attention, tokens = build(kind), make_tokens(120, 61, 7, length=128)
    queries = torch.randn(3, 5, 16, dtype=torch.float64)
    precomputed = precompute(attention, tokens)
    expected, stepped = attention(queries, precomputed).states, attention.step(queries, precomputed)
    precomputed = {name: part.cuda() for name, part in precomputed.items()}
    attention = attention.cuda()
    torch.testing.assert_close(attention(queries.cuda(), precomputed).states.cpu(), expected, atol=1e-10, rtol=0)
    torch.testing.assert_close(attention.step(queries.cuda(), precomputed).cpu(), stepped, atol=1e-10, rtol=0)
