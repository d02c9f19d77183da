import gc
import weakref
from math import prod

import pytest
import torch

from sumpool.bench.peers.transformers_peer import Build, TransformersPeer, bart, block_of, led, long_t5, pegasus_x
from sumpool.bench.workload import Conditions, Documents
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.output.tied import TiedOutputConfig
from sumpool.special_tokens import EOS

CONDITIONS = Conditions(vocabulary=40, device=torch.device("cpu"), precision=torch.float32)
CONFIG = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=24,
    source_length=24,
    target_length=9,
    encoder=(EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=8)),) * 2,
    decoder=DecoderConfig(layers=1),
)
BUILDS = {"LED": led, "PEGASUS-X": pegasus_x, "LongT5": long_t5, "BART": bart}


@pytest.fixture(params=BUILDS)
def build(request: pytest.FixtureRequest) -> Build:
    return BUILDS[request.param]


@pytest.fixture
def documents() -> Documents:
    return Documents.random(2, 21, 7, CONDITIONS)


def test_reads_every_token_and_writes_as_many_as_asked_for(build: Build) -> None:
    peer = TransformersPeer(build, CONFIG, CONDITIONS)
    for length in (24, 21, 5):
        documents = Documents.random(2, length, 7, CONDITIONS)
        found = peer.encode(documents)
        assert found.shape == (*documents.ids.shape, CONFIG.dim)
        assert found.isfinite().all()
        for beams, tokens in ((1, 9), (3, 4)):
            summaries = peer.generate(documents, beams, tokens)
            assert summaries.shape == (2, tokens)
            assert EOS not in summaries


def test_never_ends_early(documents: Documents) -> None:
    def build(config: ModelConfig, vocabulary: int) -> torch.nn.Module:
        model: torch.nn.Module = bart(config, vocabulary)
        model.get_buffer("final_logits_bias")[:, EOS] = 9
        return model

    assert EOS not in TransformersPeer(build, CONFIG, CONDITIONS).generate(documents, 2, 6)


def test_reads_once_and_runs_the_decoder_once_a_token(build: Build, documents: Documents) -> None:
    peer = TransformersPeer(build, CONFIG, CONDITIONS)
    calls = {"encoder": 0, "decoder": 0}
    for name, module in (("encoder", peer.model.get_encoder()), ("decoder", peer.model.get_decoder())):
        module.register_forward_pre_hook(lambda *_, name=name: calls.update({name: calls[name] + 1}))
    peer.generate(documents, beams=2, tokens=6)
    assert calls == {"encoder": 1, "decoder": 6}


def test_training_learns_from_the_summaries_and_leaves_no_gradients(build: Build, documents: Documents) -> None:
    peer = TransformersPeer(build, CONFIG, CONDITIONS)
    seen: list[torch.Size] = []
    weight = peer.model.get_input_embeddings().weight
    weight.register_hook(lambda gradient: seen.append(gradient.shape))
    peer.encode(documents)
    peer.train(documents)
    assert peer.model.training
    assert seen == [weight.shape]
    assert all(weights.grad is None for weights in peer.model.parameters())
    logits: list[torch.Tensor] = []
    peer.model.get_output_embeddings().register_forward_hook(lambda _module, _given, found: logits.append(found))
    peer.train(documents)
    assert logits[0].shape == (*documents.target.shape, CONDITIONS.vocabulary)


def test_weights_have_the_precision(build: Build, documents: Documents) -> None:
    conditions = Conditions(40, torch.device("cpu"), torch.bfloat16)
    peer = TransformersPeer(build, CONFIG, conditions)
    peer.train(documents)
    assert {weights.dtype for weights in peer.model.parameters()} == {torch.bfloat16}
    assert peer.encode(documents).dtype is torch.bfloat16
    assert peer.generate(documents, 2, 4).shape == (2, 4)


def test_weights_are_made_late_and_go_with_the_peer(documents: Documents) -> None:
    built: list[weakref.ref[torch.nn.Module]] = []

    def build(config: ModelConfig, vocabulary: int) -> torch.nn.Module:
        model: torch.nn.Module = led(config, vocabulary)
        built.append(weakref.ref(model))
        return model

    peer = TransformersPeer(build, CONFIG, CONDITIONS)
    assert not built
    peer.encode(documents)
    peer.encode(documents)
    assert len(built) == 1
    del peer
    gc.collect()
    assert built[0]() is None


VOCABULARY, DIM, FEED_FORWARD = 100, 64, 96
ENCODER_LAYERS, DECODER_LAYERS = 3, 2


def config_with(attention: BlockwiseAttentionConfig | VanillaAttentionConfig) -> ModelConfig:
    """A model that learns all that BART does; fewer positions than features."""
    return ModelConfig(
        dim=DIM,
        heads=4,
        feed_forward=FEED_FORWARD,
        positions="learned",
        embedding_norm=True,
        norm="post",
        source_length=32,
        target_length=32,
        encoder=(EncoderLayerConfig(attention=attention),) * ENCODER_LAYERS,
        decoder=DecoderConfig(layers=DECODER_LAYERS, positions="learned"),
        output=TiedOutputConfig(bias=False),
    )


BLOCKWISE = config_with(BlockwiseAttentionConfig(block=8))


def test_every_matrix_is_that_of_the_shape() -> None:
    """`more` are the projections that LED has for tokens that see everything."""
    for build, more in ((bart, 0), (pegasus_x, 0), (long_t5, 0), (led, 3)):
        weights = dict(build(BLOCKWISE, VOCABULARY).named_parameters()).values()
        found = sum(prod(weight.shape) for weight in weights if weight.ndim == 2 and min(weight.shape) >= DIM)
        encoder = ENCODER_LAYERS * ((4 + more) * DIM * DIM + 2 * DIM * FEED_FORWARD)
        decoder = DECODER_LAYERS * (8 * DIM * DIM + 2 * DIM * FEED_FORWARD)
        assert found == encoder + decoder + VOCABULARY * DIM


def test_what_a_token_sees_is_as_wide_as_our_block() -> None:
    config = config_with(BlockwiseAttentionConfig(block=512))
    assert set(led(config, VOCABULARY).config.attention_window) == {512}
    assert pegasus_x(config, VOCABULARY).config.block_size == 512
    assert pegasus_x(config, VOCABULARY).config.num_global_tokens == 32
    assert long_t5(config, VOCABULARY).config.local_radius == 255
    assert bart(config, VOCABULARY).config._attn_implementation == "sdpa"


def test_the_block_is_that_of_the_first_blockwise_layer() -> None:
    assert block_of(BLOCKWISE) == 8
    assert block_of(config_with(VanillaAttentionConfig())) == BlockwiseAttentionConfig().block


def test_dropout_and_activation_are_ours() -> None:
    for build in (bart, pegasus_x, long_t5, led):
        config = BLOCKWISE.model_copy(update={"dropout": 0.3, "activation": "gelu"})
        model = build(config, VOCABULARY)
        assert {getattr(model.config, name, 0.3) for name in ("dropout", "dropout_rate")} == {0.3}
        assert "gelu" in (
            getattr(model.config, "activation_function", None),
            getattr(model.config, "dense_act_fn", None),
        )
