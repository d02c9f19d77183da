"""Weights of BART and LED under the names of `Summarizer`.

Queries, keys and values become one matrix. The two rows that BART never looks up before its positions are left out.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.errors import CheckpointError
from sumpool.pretrained.config import PretrainedConfig
from sumpool.pretrained.folder import Tensors
from sumpool.pretrained.positions import Extension, extend

_EMBEDDING = ("shared.weight", "lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
"""Names of the one matrix of embedding and output; a file holds it under one of them or more."""
_UNUSED_POSITIONS = {"bart": 2, "led": 0}
"""Rows before the position of the first token."""

Parts = Mapping[str, tuple[str, ...]]
"""By our name of a linear map or a norm those of the original's that stand in it, one below the other."""

_EVERY_LAYER: Parts = {
    "attention_residual.norm": ("self_attn_layer_norm",),
    "feed_forward.widen": ("fc1",),
    "feed_forward.narrow": ("fc2",),
    "feed_forward_residual.norm": ("final_layer_norm",),
}
_BART_ATTENTION: Parts = {
    "attention.project": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.out": ("self_attn.out_proj",),
}
_LED_ATTENTION: Parts = {
    "attention.project": tuple(f"self_attn.longformer_self_attn.{name}" for name in ("query", "key", "value")),
    "attention.first.query": ("self_attn.longformer_self_attn.query_global",),
    "attention.first.key_value": tuple(f"self_attn.longformer_self_attn.{name}_global" for name in ("key", "value")),
    "attention.out": ("self_attn.output",),
}
_CROSS_ATTENTION: Parts = {
    "cross_attention.query": ("encoder_attn.q_proj",),
    "cross_attention.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.out": ("encoder_attn.out_proj",),
    "cross_attention_residual.norm": ("encoder_attn_layer_norm",),
}


def convert_weights(
    tensors: Tensors, original: PretrainedConfig, model: ModelConfig, how: Extension
) -> dict[str, Tensor]:
    """Make every weight of ours from the original's.

    Args:
        tensors: The original's; all of them are taken.
        original: Its configuration.
        model: Our settings, of the same sizes.
        how: How positions beyond the original's are made.

    Returns:
        Tensors by the names that `sumpool.training.weights.weights_of` gives them, in float32.

    Raises:
        CheckpointError: If a tensor is missing, left over, of another shape or no number, or embedding and output
            are not one matrix.
    """
    weights = _vocabulary(tensors, original)
    encoder = _BART_ATTENTION if original.model_type == "bart" else _LED_ATTENTION
    halves: list[tuple[str, int, int, Parts]] = [
        ("encoder", model.source_length, original.encoder_layers, encoder),
        ("decoder", model.target_length, original.decoder_layers, {**_BART_ATTENTION, **_CROSS_ATTENTION}),
    ]
    for half, length, layers, attentions in halves:
        weights[f"{half}.embed.positions.weight"] = extend(_positions(tensors, original, half), length, how)
        weights |= _stacked(tensors, original, half, {"embed.norm": ("layernorm_embedding",)})
        for layer in range(layers):
            weights |= _stacked(tensors, original, f"{half}.layers.{layer}", {**attentions, **_EVERY_LAYER})
    left = tensors.names()
    if left:
        raise CheckpointError(
            f"{tensors.folder} must hold the weights of {original.model_type.upper()} with its language head and no "
            f"others, got {left[0]}{f' and {len(left) - 1} more' if left[1:] else ''}"
        )
    return weights


def _vocabulary(tensors: Tensors, original: PretrainedConfig) -> dict[str, Tensor]:
    """Take the matrix of embedding and output, and the output's bias."""
    shape = original.vocab_size, original.d_model
    first, *others = [name for name in _EMBEDDING if name in tensors] or _EMBEDDING[:1]
    embedding = tensors.take(first, shape)
    for name in others:
        if not torch.equal(tensors.take(name, shape), embedding):
            raise CheckpointError(f"{tensors.folder}: {name} must be the same matrix as {first}, got another")
    bias = torch.zeros(1, original.vocab_size)
    if "final_logits_bias" in tensors:
        bias = tensors.take("final_logits_bias", (1, original.vocab_size), endless=True)
    return {"embedding.weight": embedding, "output.bias": bias[0]}


def _positions(tensors: Tensors, original: PretrainedConfig, half: str) -> Tensor:
    """Take the learned positions, (positions, dim)."""
    unused = _UNUSED_POSITIONS[original.model_type]
    length = original.source_length if half == "encoder" else original.target_length
    return tensors.take(f"{half}.embed_positions.weight", (unused + length, original.d_model))[unused:]


def _stacked(tensors: Tensors, original: PretrainedConfig, place: str, parts: Parts) -> dict[str, Tensor]:
    """Put the maps and norms of one place into ours."""
    dim, wide = original.d_model, original.encoder_ffn_dim
    shapes = {"fc1": (wide, dim), "fc2": (dim, wide)}
    weights = {}
    for ours, theirs in parts.items():
        inside: list[tuple[int, ...]] = [(dim,) if "norm" in name else shapes.get(name, (dim, dim)) for name in theirs]
        for kind in ("weight", "bias"):
            found = [
                tensors.take(f"{place}.{name}.{kind}", shape if kind == "weight" else shape[:1])
                for name, shape in zip(theirs, inside, strict=True)
            ]
            weights[f"{place}.{ours}.{kind}"] = torch.cat(found)
    return weights
