"""The plain loop of the encoder, restoring, metrics and word numbers."""

from dataclasses import replace
from typing import final

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model import encoder as encoder_module
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder import Encoder, Memory, group_layers
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import one_thread
from sumpool.core.nn.quantization import Precision, quantize
from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import Pooled, Pooler, keep_all
from sumpool.core.pooling.hard import HardPoolerConfig
from sumpool.core.tokens import Tokens
from tests.core.model.test_summarizer import VOCAB, make_documents
from tests.core.nn.test_quantization import NEEDS_INT8

VANILLA: dict[str, object] = {"attention": {"kind": "vanilla"}}
TWO_POOLINGS: list[dict[str, object]] = [
    {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 20}},
    {**VANILLA, "pool": {"kind": "halving", "keep": 6}},
    VANILLA,
]


def make_encoder(*layers: dict[str, object], word_starts: Tensor | None = None, **settings: object) -> Encoder:
    torch.manual_seed(1)
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200, "dropout": 0.0}
    config = ModelConfig.model_validate({**sizes, "encoder": layers, **settings})
    encoder = SummarizationModel(config, VOCAB, word_starts).double().encoder
    for name, parameter in encoder.named_parameters():
        if ".positions." in name:
            nn.init.normal_(parameter)
    return encoder


def test_states_pass_through_every_layer_and_pooler() -> None:
    encoder, (ids, mask, sentences) = make_encoder(*TWO_POOLINGS).eval(), make_documents(64, 9, 33)
    encoder.chunked = False
    memory = encoder(ids, mask, sentences).tokens
    tokens = Tokens.from_source(encoder.embed.embedding(ids), mask, sentences, ids, ids)
    tokens = tokens.with_states(encoder.embed(ids, mask, tokens.positions))
    for index, layer in enumerate(encoder.layers):
        tokens = layer(tokens)
        if str(index) in encoder.poolers:
            tokens = encoder.poolers[str(index)](tokens).tokens
    expected = encoder.norm(tokens.states)[tokens.mask]
    torch.testing.assert_close(memory.states[memory.mask], expected, atol=1e-12, rtol=0)


def test_restore_adds_to_every_token_the_state_it_was_pooled_into() -> None:
    documents = make_documents(64, 9, 33)
    encoded = make_encoder(*TWO_POOLINGS, norm="post")(*documents)
    restored = make_encoder(*TWO_POOLINGS, norm="post", restore=True)(*documents).tokens
    first, second = (mixture() for mixture in encoded.mixtures)
    is_member = second.matrix(20) @ first.matrix(64) > 0  # (batch, keep, length), True in one state for a real token
    expected = encoded.source.states + is_member.double().mT @ encoded.tokens.states
    torch.testing.assert_close(restored.states[restored.mask], expected[restored.mask])
    assert torch.equal(restored.mask, documents[1])
    assert torch.equal(restored.positions, torch.arange(64).expand(3, -1))


def test_states_that_are_members_of_no_sum_are_restored_as_zero() -> None:
    members, weights = torch.tensor([[[0, 2], [3, 0]]]), torch.tensor([[[0.25, 0.75], [1.0, 0.0]]])
    mixture = Mixture(members, weights, torch.ones(1, 2, dtype=torch.bool))
    upsampled = mixture.upsample(torch.tensor([[[1.0], [5.0]]]), 5)
    assert upsampled.flatten().tolist() == [1, 0, 1, 5, 0]


def test_small_weights_are_restored_with_finite_gradients() -> None:
    weights = torch.tensor([[[1.0, 1e-42], [1.0, 3e-42]]])
    mixture = Mixture(torch.tensor([[[0, 1], [2, 1]]]), weights, torch.ones(1, 2, dtype=torch.bool))
    states = torch.tensor([[[4.0], [8.0]]], requires_grad=True)
    upsampled = mixture.upsample(states, 3)
    upsampled.sum().backward()
    torch.testing.assert_close(upsampled.flatten(), torch.tensor([4.0, 7.0, 8.0]), atol=0.01, rtol=0)
    assert states.grad is not None
    torch.testing.assert_close(states.grad.flatten(), torch.tensor([1.25, 1.75]), atol=0.01, rtol=0)


def test_documents_without_tokens_have_an_empty_memory() -> None:
    ids = torch.zeros(2, 8, dtype=torch.long)
    for layers in (TWO_POOLINGS, [blockwise(16)]):
        for module in (make_encoder(*layers).train(), make_encoder(*layers).eval()):
            with torch.set_grad_enabled(module.training):
                memory = module(ids, ids.bool(), ids).tokens
            assert memory.states.isfinite().all()
            assert not memory.mask.any()


def test_words_are_counted_by_the_tokens_that_begin_them() -> None:
    ids = torch.tensor([[5, 6, 7, 5, 9]])
    for starts, expected in (([5], [1, 1, 1, 2, 2]), ([5, 6, 7], [1, 2, 3, 4, 4])):
        word_starts = torch.zeros(VOCAB, dtype=torch.bool).index_fill(0, torch.tensor(starts), value=True)
        encoder = make_encoder(VANILLA, word_starts=word_starts)
        words = encoder(ids, torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids)).tokens.words
        assert words.tolist() == [expected]


@final
class PoolerWithLoss(Pooler):
    """Leaves states keep_all; its loss and metric are the number of its calls."""

    calls = 0

    def forward(self, tokens: Tokens) -> Pooled:
        self.calls += 1
        value = torch.tensor(float(self.calls))
        pooled = keep_all(tokens)
        return replace(pooled, tokens=replace(pooled.tokens, losses={"loss": value}, metrics={"calls": value}))


def test_losses_are_summed_and_metrics_named_after_layers() -> None:
    encoder, pooler = make_encoder(*TWO_POOLINGS), PoolerWithLoss(HardPoolerConfig(), nn.Embedding(1, 16))
    encoder.poolers.update(dict.fromkeys(encoder.poolers, pooler))
    output = encoder(*make_documents(9, 4))
    assert output.tokens.losses == {"loss": torch.tensor(3.0)}
    assert output.tokens.metrics == {"layer_1.calls": torch.tensor(1.0), "layer_2.calls": torch.tensor(2.0)}
    assert len(output.mixtures) == 2


LENGTHS = (130, 48, 0, 7, 100, 1)


def blockwise(block: int, positions: str = "none") -> dict[str, object]:
    return {"attention": {"kind": "blockwise", "block": block, "positions": positions}}


def encode_in_loop(encoder: Encoder, *documents: Tensor) -> Memory:
    """Encode by the plain loop over whole documents, padding included."""
    encoder.chunked = False
    output: Memory = encoder(*documents)
    encoder.chunked = True
    return output


def assert_same_output(actual: Memory, expected: Memory) -> None:
    for ours, theirs in ((actual.tokens, expected.tokens), (actual.source, expected.source)):
        mask = theirs.mask
        assert torch.equal(ours.mask, mask)
        torch.testing.assert_close(ours.states[mask], theirs.states[mask], atol=1e-12, rtol=0)
        for name in ("positions", "sentences", "words", "ids"):
            assert torch.equal(getattr(ours, name)[mask], getattr(theirs, name)[mask]), name
    torch.testing.assert_close(actual.tokens.losses, expected.tokens.losses, atol=1e-12, rtol=0)
    torch.testing.assert_close(actual.tokens.metrics, expected.tokens.metrics, atol=1e-12, rtol=0)
    for mixture, expected_mixture in zip(actual.mixtures, expected.mixtures, strict=True):
        length = 1 + max(int(mixture().members.max()), int(expected_mixture().members.max()))
        torch.testing.assert_close(mixture().matrix(length), expected_mixture().matrix(length), atol=1e-12, rtol=0)


HARD = {"kind": "hard", "keep": 20, "scorer": {"kind": "attention_mass"}}
ENCODERS = {
    "one block": [blockwise(16)] * 2,
    "several blocks": [blockwise(16), blockwise(24, "relative"), blockwise(8, "rotary")],
    "a block as long as two documents": [blockwise(64), blockwise(99)],
    "full attention between blocks": [blockwise(16), VANILLA, blockwise(8), blockwise(4)],
    "full attention first": [VANILLA, blockwise(8)],
    "pooled": [blockwise(16), {**blockwise(16), "pool": {"kind": "halving", "keep": 30}}, blockwise(8, "relative")],
    "pooled twice": [blockwise(16), {**blockwise(32), "pool": HARD}, {**blockwise(8), "pool": {**HARD, "keep": 9}}],
    "pooled after full attention": [blockwise(16), {**VANILLA, "pool": {"kind": "halving", "keep": 30}}, blockwise(8)],
}
every_encoder = pytest.mark.parametrize("layers", ENCODERS.values(), ids=ENCODERS)


@every_encoder
@pytest.mark.parametrize("rows", [1, 70, 1000])
def test_chunks_equal_the_plain_loop(
    layers: list[dict[str, object]], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "CPU_CHUNK_BYTES", rows * 16 * 8)
    encoder, documents = make_encoder(*layers, restore=rows == 70).eval(), make_documents(*LENGTHS)
    assert encoder.chunked
    with torch.no_grad():
        assert_same_output(encoder(*documents), encode_in_loop(encoder, *documents))


@every_encoder
def test_gradients_equal_those_of_the_plain_loop(layers: list[dict[str, object]]) -> None:
    encoder, documents = make_encoder(*layers), make_documents(*LENGTHS)
    gradients = []
    for output in (encoder(*documents), encode_in_loop(encoder, *documents)):
        encoder.zero_grad()
        output.tokens.states[output.tokens.mask].square().cumsum(0).sum().backward()
        gradients.append({name: part.grad for name, part in encoder.named_parameters() if part.grad is not None})
    torch.testing.assert_close(*gradients)


@torch.inference_mode()
def test_layers_compute_few_tokens_of_padding() -> None:
    encoder = make_encoder(blockwise(128), blockwise(128)).eval()
    inputs: list[Tokens] = []
    encoder.layers[1].register_forward_pre_hook(lambda _, tokens: inputs.append(tokens[0]))
    encoder(*make_documents(130, 48, 0, 33))
    assert sum(int(tokens.mask.sum()) for tokens in inputs) == 130 + 48 + 33
    assert [(tuple(tokens.mask.shape), tokens.full) for tokens in inputs] == [((1, 128), True), ((3, 64), False)]


@pytest.mark.parametrize("precision", ["fp32", pytest.param("int8", marks=NEEDS_INT8)])
def test_batch_mates_change_no_bit_of_a_document(precision: Precision) -> None:
    pooled = {**blockwise(128), "pool": {"kind": "halving", "keep": 40}}
    encoder = make_encoder(pooled, blockwise(128), source_length=500).float().eval()
    quantize(encoder, precision)
    lengths = (500, 70, 129, 128, 64, 37, 333, 260, 411)
    documents = make_documents(*lengths)
    with torch.inference_mode(), one_thread():
        together = encoder(*documents)
        for row, length in enumerate(lengths):
            alone = encoder(*(part[row : row + 1, :length] for part in documents))
            for one, batch in ((alone.tokens, together.tokens), (alone.source, together.source)):
                real = int(one.mask.sum())
                assert torch.equal(one.states[0, :real], batch.states[row, :real])


def test_layers_are_grouped_up_to_a_pooling_or_full_attention() -> None:
    groups = group_layers([4, 6, 6, None, None, 8], pooled=[1])
    assert groups == [(range(2), 12), (range(2, 3), 6), (range(3, 5), None), (range(5, 6), 8)]
    assert not make_encoder(VANILLA, VANILLA).chunked
