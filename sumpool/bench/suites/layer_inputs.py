"""Inputs of the attentions of a trained encoder on validation documents."""

from collections.abc import Iterator

import torch
from torch import Tensor

from sumpool.bench.suites.approximation import LayerInput
from sumpool.bench.suites.selection_losses import validation_shard
from sumpool.core.attention._base import Attention
from sumpool.core.model.encoder import EncoderLayer
from sumpool.data.batches import collate
from sumpool.errors import RecipeError
from sumpool.inference.loading import LoadedModel

_PARTS = 3
"""Queries, keys and values, the output of the joint projection."""


def trained_inputs(loaded: LoadedModel, documents: int) -> Iterator[LayerInput]:
    """Encode validation documents, evenly spread, and yield what enters each attention.

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
        RecipeError: If no attention of the encoder has queries, keys and values.
    """
    attentions = [
        layer.attention
        for layer in loaded.model.encoder.layers
        if isinstance(layer, EncoderLayer) and _is_projected(layer.attention)
    ]
    if not attentions:
        raise RecipeError(
            "bench approximation: encoder must have a layer whose attention has queries, keys and values, got none"
        )
    shard, config = validation_shard(loaded), loaded.recipe.model
    for number in range(min(documents, len(shard))):
        item = shard[number * len(shard) // min(documents, len(shard))]
        batch = collate([item], config.source_length, config.target_length, special_tokens=loaded.model.special_tokens)
        batch = batch.to(loaded.device)
        for attention, states in _record(loaded, attentions, batch.ids, batch.mask, batch.sentences):
            weight, bias = attention.project.weight.detach(), attention.project.bias.detach()
            yield LayerInput(states.float(), weight.float(), bias.float(), attention.heads)


@torch.inference_mode()
def _record(loaded: LoadedModel, attentions: list[Attention], *document: Tensor) -> Iterator[tuple[Attention, Tensor]]:
    """Encode a document and return the states (1, length, dim) that enter each attention."""
    encoder, inputs = loaded.model.encoder, {}

    def note(attention: Attention, args: tuple[Tensor, ...]) -> None:
        inputs[attention] = args[0]

    hooks = [attention.register_forward_pre_hook(note) for attention in attentions]
    chunked, encoder.chunked = encoder.chunked, False  # whole documents
    try:
        encoder(*document)
    finally:
        encoder.chunked = chunked
        for hook in hooks:
            hook.remove()
    return iter(inputs.items())


def _is_projected(attention: Attention) -> bool:
    """Return whether queries, keys and values of an attention come from one projection."""
    return attention.project.out_features == _PARTS * attention.project.in_features
