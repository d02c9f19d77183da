"""The model with the settings of BART, against BART of transformers: states and log-probabilities."""

from collections.abc import Sequence
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import BartConfig, BartForConditionalGeneration

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.encoder import EncoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.special_tokens import BOS, PAD

VOCAB, DIM, LAYERS = 60, 32, 2
LENGTHS = (40, 17, 1)
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-10}


def make_theirs(scaled: bool) -> BartForConditionalGeneration:
    """A random BART, norms and biases included, whose initial values would hide mistakes."""
    torch.manual_seed(5)
    config = BartConfig(
        vocab_size=VOCAB,
        d_model=DIM,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=48,
        scale_embedding=scaled,
        pad_token_id=PAD,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
    )
    model = BartForConditionalGeneration(config)
    model.train(False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        model.final_logits_bias.normal_()
    return model


def make_ours(theirs: BartForConditionalGeneration, scaled: bool) -> SummarizationModel:
    """The same model."""
    settings = {
        "dim": DIM,
        "heads": 4,
        "feed_forward": 64,
        "activation": "gelu",
        "norm": "post",
        "positions": "learned",
        "embedding_norm": True,
        "scale_embedding": scaled,
        "source_length": 48,
        "target_length": 48,
        "encoder": [{"attention": {"kind": "vanilla"}}] * LAYERS,
        "decoder": {"layers": LAYERS, "positions": "learned"},
        "output": {"kind": "tied", "bias": True},
    }
    model = SummarizationModel(ModelConfig.model_validate(settings), VOCAB).eval()
    copy(model.embedding, theirs.model.shared)
    assert isinstance(model.output.bias, Tensor)
    model.output.bias.copy_(theirs.final_logits_bias[0])
    for ours, other in ((model.encoder, theirs.model.encoder), (model.decoder, theirs.model.decoder)):
        assert ours.embed.positions is not None
        with torch.no_grad():
            ours.embed.positions.weight.copy_(other.embed_positions.weight[2:])  # two unused rows
        copy(ours.embed.norm, other.layernorm_embedding)
        for layer, like in zip(ours.layers, other.layers, strict=True):
            assert isinstance(layer, EncoderLayer | DecoderLayer)
            copy_layer(layer, like)
    return model


def copy_layer(layer: EncoderLayer | DecoderLayer, like: nn.Module) -> None:
    """Copy the parameters of a layer, cross-attention included where there is one."""
    parts = {name: like.get_submodule(name) for name, _ in like.named_modules() if name}
    copy(layer.attention.get_submodule("project"), *(parts[f"self_attn.{part}_proj"] for part in "qkv"))
    copy(layer.attention.get_submodule("out"), parts["self_attn.out_proj"])
    copy(layer.attention_residual.norm, parts["self_attn_layer_norm"])
    copy(layer.feed_forward.widen, parts["fc1"])
    copy(layer.feed_forward.narrow, parts["fc2"])
    copy(layer.feed_forward_residual.norm, parts["final_layer_norm"])
    if isinstance(layer, DecoderLayer):
        cross = layer.cross_attention
        copy(cross.get_submodule("query"), parts["encoder_attn.q_proj"])
        copy(cross.get_submodule("key_value"), *(parts[f"encoder_attn.{part}_proj"] for part in "kv"))
        copy(cross.get_submodule("out"), parts["encoder_attn.out_proj"])
        copy(layer.cross_attention_residual.norm, parts["encoder_attn_layer_norm"])


def copy(ours: nn.Module, *others: nn.Module) -> None:
    """Copy the concatenated parameters of modules."""
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            parameter.copy_(torch.cat([other.get_parameter(name) for other in others]))


def make_documents(lengths: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, VOCAB, mask.shape).masked_fill(~mask, PAD)
    return ids, mask, torch.zeros_like(ids)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@torch.no_grad()
def test_equals_the_model_of_transformers(dtype: torch.dtype, scaled: bool) -> None:
    theirs = make_theirs(scaled)
    ours, theirs = make_ours(theirs, scaled).to(dtype), theirs.type(dtype)
    ids, mask, sentences = make_documents(LENGTHS)
    target = torch.randint(5, VOCAB, (3, 20))
    inputs = torch.cat([torch.full((3, 1), BOS), target[:, :-1]], dim=1)
    output = theirs(input_ids=ids, attention_mask=mask.long(), decoder_input_ids=inputs, output_hidden_states=True)
    expected = output.logits.log_softmax(-1)
    same = partial(torch.testing.assert_close, atol=TOLERANCE[dtype], rtol=0)

    memory = ours.encode(ids, mask, sentences)
    same(memory.tokens.states[mask], output.encoder_last_hidden_state[mask])
    decoded = ours.decoder(inputs, ours.decoder.precompute(memory.tokens)).states
    same(decoded, output.decoder_hidden_states[-1])
    score = ours.score(memory, target, smoothing=0.1)
    same(score.log_prob, expected.gather(2, target[..., None]).squeeze(2))
    smooth = F.cross_entropy(output.logits.flatten(0, 1), target.flatten(), reduction="sum", label_smoothing=0.1)
    torch.testing.assert_close(score.nll, smooth, atol=0, rtol=TOLERANCE[dtype])

    state = ours.start(memory, 1)
    for position in range(target.size(1)):
        log_probs, state = ours.step(inputs[:, position], state)
        same(log_probs, expected[:, position])
