"""Chunked encoding, against the plain loop."""

from typing import Any

import pytest
import torch
from torch import Tensor

from sumpool.core.model import encoder as encoder_module
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.encoder import Encoder, EncoderOutput, LayerGroup, group_layers
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.tokens import Tokens
from tests.core.model.test_summarizer import VOCAB, make_documents

LENGTHS = (130, 48, 0, 7, 100, 1)


def make_encoder_model(*layers: dict[str, object], **settings: object) -> SummarizationModel:
    torch.manual_seed(1)
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200, "dropout": 0.0}
    config = ModelConfig.model_validate({**sizes, "encoder": layers, **settings})
    return SummarizationModel(config, VOCAB).double()


def make_encoder(*layers: dict[str, object], **settings: object) -> Encoder:
    encoder = make_encoder_model(*layers, **settings).encoder
    for name, parameter in encoder.named_parameters():
        if ".positions." in name:
            torch.nn.init.normal_(parameter)
    return encoder


def blockwise(block: int, positions: str = "none") -> dict[str, object]:
    return {"attention": {"kind": "blockwise", "block": block, "positions": positions}}


VANILLA: dict[str, object] = {"attention": {"kind": "vanilla"}}


def encode_in_loop(encoder: Encoder, *documents: Tensor) -> EncoderOutput:
    """Encode by the plain loop over whole documents, padding included."""
    encoder.chunked = False
    output: EncoderOutput = encoder(*documents)
    encoder.chunked = True
    return output


def assert_same_tokens(actual: Tokens, expected: Tokens) -> None:
    assert torch.equal(actual.mask, expected.mask)
    mask = expected.mask
    torch.testing.assert_close(actual.states[mask], expected.states[mask], atol=1e-12, rtol=0)
    for name in ("positions", "sentences", "words", "ids", "origin"):
        assert torch.equal(getattr(actual, name)[mask], getattr(expected, name)[mask]), name


def assert_same_scalars(actual: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert actual.keys() == expected.keys()
    for name, value in actual.items():
        torch.testing.assert_close(value, expected[name], atol=1e-12, rtol=0, msg=name)


def assert_same_output(actual: EncoderOutput, expected: EncoderOutput) -> None:
    assert_same_tokens(actual.memory, expected.memory)
    assert_same_tokens(actual.source, expected.source)
    assert_same_scalars(actual.memory.losses, expected.memory.losses)
    assert_same_scalars(actual.memory.metrics, expected.memory.metrics)
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
    encoder, documents = make_encoder(*layers).eval(), make_documents(*LENGTHS)
    assert encoder.chunked
    with torch.no_grad():
        assert_same_output(encoder(*documents), encode_in_loop(encoder, *documents))


POOLERS: list[dict[str, Any]] = [
    {"kind": "halving", "keep": 20},
    {"kind": "halving", "keep": 0.3, "inference": "hard"},
    {"kind": "hard", "keep": 20, "scorer": {"kind": "nonlinear"}},
    {"kind": "hard", "keep": 0.4, "scorer": {"kind": "attention_mass"}},
    {"kind": "iterative", "keep": 20},
    {"kind": "funnel"},
    *(
        {"kind": "segments", "boundaries": {"kind": kind}}
        for kind in ("fixed", "whitespace", "sentence", "entropy", "gumbel", "unigram")
    ),
]


@pytest.mark.parametrize("pool", POOLERS, ids=lambda pool: "-".join(map(str, pool.values())))
@pytest.mark.parametrize(("seed", "restore"), [(0, True), pytest.param(1, False, marks=pytest.mark.slow)])
def test_chunks_equal_the_plain_loop_with_every_pooler_at_random_lengths(
    pool: dict[str, Any], seed: int, restore: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_module, "CPU_CHUNK_BYTES", 24 * 16 * 8)
    torch.manual_seed(seed)
    lengths, block = torch.randint(0, 150, (5,)).tolist(), int(torch.randint(3, 30, ()))
    documents = make_documents(*lengths, 33)
    layers = [blockwise(block, "relative"), {**blockwise(block), "pool": pool}, VANILLA, blockwise(5)]
    encoder = make_encoder(*layers, restore=restore).eval()
    with torch.no_grad():
        assert_same_output(encoder(*documents), encode_in_loop(encoder, *documents))


@every_encoder
def test_gradients_equal_those_of_the_plain_loop(layers: list[dict[str, object]]) -> None:
    encoder, documents = make_encoder(*layers), make_documents(*LENGTHS)
    gradients = []
    for output in (encoder(*documents), encode_in_loop(encoder, *documents)):
        encoder.zero_grad()
        output.memory.states[output.memory.mask].square().cumsum(0).sum().backward()
        gradients.append({name: parameter.grad for name, parameter in encoder.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], msg=name)


def test_layers_compute_real_tokens_only() -> None:
    encoder = make_encoder(blockwise(16), blockwise(16)).eval()
    inputs: list[Tokens] = []
    encoder.layers[1].register_forward_pre_hook(lambda _, tokens: inputs.append(tokens[0]))
    encoder(*make_documents(130, 48, 0, 33))
    assert sum(int(tokens.mask.sum()) for tokens in inputs) == 130 + 48 + 33
    assert [(tuple(tokens.mask.shape), tokens.full) for tokens in inputs] == [((13, 16), True), ((2, 2), False)]


def test_layers_are_grouped_up_to_a_pooling_or_full_attention() -> None:
    groups = group_layers([4, 6, 6, None, None, 8], pooled=[1])
    assert groups == [
        LayerGroup(range(2), 12),
        LayerGroup(range(2, 3), 6),
        LayerGroup(range(3, 5), None),
        LayerGroup(range(5, 6), 8),
    ]


def test_encoders_without_blocks_are_not_chunked() -> None:
    assert not make_encoder(VANILLA, VANILLA).chunked


def test_empty_documents_stay_empty() -> None:
    encoder = make_encoder(blockwise(16))
    _, mask, sentences = make_documents(5)
    for module in (encoder.train(), encoder.eval()):
        with torch.set_grad_enabled(module.training):
            memory = module(torch.zeros_like(sentences), torch.zeros_like(mask), sentences).memory
        assert not memory.mask.any()
        assert memory.states.isfinite().all()
