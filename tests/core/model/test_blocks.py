"""Taking documents apart into blocks, against reading them whole."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sumpool.core.model import encoder as module
from sumpool.core.model.blocks import Blocks
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder import Encoder, MemoryBudget
from sumpool.core.model.layer_groups import EncoderLayer
from sumpool.core.model.summarizer import Summarizer
from sumpool.core.tokens import Tokens

VOCAB = 60
LENGTHS = (130, 48, 0, 7, 100, 1)


def make_encoder(*layers: dict[str, object]) -> Encoder:
    torch.manual_seed(1)
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200, "dropout": 0.0}
    encoder = Summarizer(ModelConfig.model_validate({**sizes, "encoder": layers}), VOCAB).double().encoder
    for name, parameter in encoder.named_parameters():
        if ".positions." in name:
            torch.nn.init.normal_(parameter)
    return encoder


def blockwise(block: int, positions: str = "none") -> dict[str, object]:
    return {"attention": {"kind": "blockwise", "block": block, "positions": positions}}


def make_documents(*lengths: int) -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, VOCAB, mask.shape).masked_fill(~mask, 0)
    return ids, mask, torch.arange(max(lengths)).expand(mask.shape) // 7


def read_whole(encoder: Encoder, ids: Tensor, mask: Tensor, sentences: Tensor) -> Tokens:
    """Run whole documents, padding and all, through one layer after another."""
    tokens = Tokens.from_source(encoder.embed(ids, mask, sentences), mask, sentences, ids, ids)
    tokens = tokens.with_states(encoder.embed(ids, mask, tokens.positions))
    for number, layer in enumerate(encoder.layers):
        tokens = layer(tokens)
        if str(number) in encoder.poolers:
            tokens = encoder.poolers[str(number)](tokens).tokens
    return tokens.with_states(encoder.norm(tokens.states))


MASS = {"kind": "hard", "keep": 20, "scorer": {"kind": "attention_mass"}}
FEWER = {**MASS, "keep": 9}
ENCODERS = {
    "one block": [blockwise(16)] * 2,
    "several blocks": [blockwise(16), blockwise(24, "relative"), blockwise(8, "rotary")],
    "a block as long as two documents": [blockwise(64), blockwise(99)],
    "a layer that sees everything": [blockwise(16), {"attention": {"kind": "vanilla"}}, blockwise(8), blockwise(4)],
    "sees everything first": [{"attention": {"kind": "vanilla"}}, blockwise(8)],
    "pooled": [blockwise(16), {**blockwise(16), "pool": {"kind": "halving", "keep": 30}}, blockwise(8, "relative")],
    "pooled by attention": [
        blockwise(16),
        {**blockwise(32), "pool": MASS},
        {**blockwise(8), "pool": FEWER},
    ],
}
every_encoder = pytest.mark.parametrize("layers", ENCODERS.values(), ids=ENCODERS)


@every_encoder
@pytest.mark.parametrize("rows", [1, 70, 1000])
def test_equals_reading_whole_documents(
    layers: list[dict[str, object]], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CPU", MemoryBudget(rows * 16 * 8, 2**30))
    encoder, documents = make_encoder(*layers).eval(), make_documents(*LENGTHS)
    with torch.no_grad():
        found, expected = encoder(*documents).memory, read_whole(encoder, *documents)
    assert torch.equal(found.mask, expected.mask)
    torch.testing.assert_close(found.states[found.mask], expected.states[found.mask], atol=1e-12, rtol=0)
    for name in ("positions", "sentences", "ids", "origin"):
        assert torch.equal(getattr(found, name)[found.mask], getattr(expected, name)[found.mask]), name


@every_encoder
def test_gradients_equal_those_of_whole_documents(layers: list[dict[str, object]]) -> None:
    encoder, documents = make_encoder(*layers), make_documents(*LENGTHS)
    gradients = []
    for tokens in (encoder(*documents).memory, read_whole(encoder, *documents)):
        encoder.zero_grad()
        tokens.states[tokens.mask].square().cumsum(0).sum().backward()
        gradients.append({name: parameter.grad for name, parameter in encoder.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], msg=name)


def test_layers_are_given_real_tokens_alone() -> None:
    encoder = make_encoder(blockwise(16), blockwise(16)).eval()
    given: list[Tokens] = []
    encoder.layers[1].register_forward_pre_hook(lambda _, tokens: given.append(tokens[0]))
    encoder(*make_documents(130, 48, 0, 33))
    assert sum(int(tokens.mask.sum()) for tokens in given) == 130 + 48 + 33
    assert [(tuple(tokens.mask.shape), tokens.full) for tokens in given] == [((13, 16), True), ((2, 2), False)]


def test_layers_run_together_until_vectors_are_pooled_or_seen_from_afar() -> None:
    pooled = {**blockwise(6), "pool": {"kind": "halving", "keep": 30}}
    vanilla: dict[str, object] = {"attention": {"kind": "vanilla"}}
    runs = make_encoder(blockwise(4), pooled, blockwise(6), vanilla, vanilla, blockwise(8)).runs
    assert [(list(run.layers), run.block) for run in runs] == [([0, 1], 12), ([2], 6), ([3, 4], None), ([5], 8)]


def test_blocks_know_where_they_stand(make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(20, 9, 1)
    tokens = replace(tokens, states=torch.stack([tokens.origin, tokens.words], dim=-1).double())
    blocks = Blocks(tokens.mask, 8, 16)
    taken = [chunk.take(tokens) for chunk in blocks.chunks]
    assert [piece.mask.sum(1).tolist() for piece in taken] == [[8, 8], [8], [4, 1, 1]]
    assert [piece.full for piece in taken] == [True, True, False]
    for piece in taken:
        assert torch.equal(piece.indices[piece.mask], piece.origin[piece.mask])
    assert torch.equal(tokens.indices, tokens.origin)
    joined = blocks.join(piece.states for piece in taken)
    assert torch.equal(joined, tokens.states.masked_fill(~tokens.mask[..., None], 0.0))
    numbers = blocks.join(piece.words for piece in taken)
    assert torch.equal(numbers, tokens.words.masked_fill(~tokens.mask, 0))


def test_documents_without_tokens_stay_empty() -> None:
    encoder = make_encoder(blockwise(16))
    _, mask, sentences = make_documents(5)
    nothing = torch.zeros_like(mask)
    for encoder_mode in (encoder.train(), encoder.eval()):
        with torch.set_grad_enabled(encoder_mode.training):
            memory = encoder_mode(torch.zeros_like(sentences), nothing, sentences).memory
        assert not memory.mask.any()
        assert memory.states.isfinite().all()


def test_a_layer_can_be_given_documents_known_to_be_full() -> None:
    encoder = make_encoder(blockwise(7)).eval()
    ids, mask, sentences = make_documents(30)
    tokens = Tokens.from_source(encoder.embed(ids, mask, sentences), mask, sentences, ids, ids)
    layer = encoder.layers[0]
    assert isinstance(layer, EncoderLayer)
    torch.testing.assert_close(layer(replace(tokens, full=True)).states, layer(tokens).states)
