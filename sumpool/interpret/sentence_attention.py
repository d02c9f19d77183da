"""Attention of summary tokens to the sentences of their document (Manakul and Gales, 2021, Equation 4).

The weights are those of the queries and keys over all words, without sentence selection: for full cross-attention the
weights in use, for sentence selection the weights to select from. Heads are averaged, as in the paper's Figure 1.
"""

import torch
from torch import Tensor, nn

from sumpool.core.cross_attention._base import CrossAttention
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.sentences import Sentences, sum_over_sentences
from sumpool.core.tokens import Tokens
from sumpool.data.batches import Batch


@torch.inference_mode()
def sentence_attention(model: SummarizationModel, batch: Batch) -> list[list[Tensor]]:
    """Sentence attention of every decoder layer under teacher forcing with the reference summaries.

    Args:
        model: Model in evaluation mode.
        batch: Documents with summaries, on the model's device.

    Returns:
        For each document and layer a tensor (target, sentences) without padding; rows sum to 1. Sentences without a
        vector in the memory are omitted.

    Raises:
        ValueError: If the batch has no summaries, or a cross-attention has no query and key projections of words.
    """
    if batch.target is None:
        raise ValueError("batch must have summaries, got documents alone")
    layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
    query, key = ([_projection(layer, name) for layer in layers] for name in ("query", "key_value"))
    memory = model.encode(batch.ids, batch.mask, batch.sentences)
    inputs: list[Tensor] = []
    hooks = [layer.register_forward_pre_hook(lambda _, args: inputs.append(args[0])) for layer in layers]
    try:
        model.score(memory, batch.target)
    finally:
        for hook in hooks:
            hook.remove()
    sentences = Sentences.find(memory.tokens)
    weights = [
        _sentence_weights(project(states), key_value, memory.tokens, sentences, layer.heads)
        for layer, project, states, key_value in zip(layers, query, inputs, key, strict=True)
    ]
    counts, targets = sentences.mask.sum(1), (batch.target != batch.pad).sum(1)
    return [[layer[row, : targets[row], : counts[row]] for layer in weights] for row in range(len(batch.documents))]


def _projection(layer: CrossAttention, name: str) -> nn.Linear:
    module = dict(layer.named_children()).get(name)
    if not isinstance(module, nn.Linear):
        raise ValueError(f"cross_attention must have query and key_value projections, got {type(layer).__name__}")
    return module


def _sentence_weights(query: Tensor, key_value: nn.Linear, memory: Tokens, sentences: Sentences, heads: int) -> Tensor:
    """Full attention summed over sentences and averaged over heads, (batch, target, sentences)."""
    key, _ = key_value(zero_padding(memory.states, memory.mask)).chunk(2, dim=-1)
    query, key = split_heads(query, heads), split_heads(key, heads)
    scores = query @ key.transpose(2, 3) / query.size(-1) ** 0.5  # (batch, heads, target, length)
    membership = sentences.membership(memory.mask, scores.dtype)
    return sum_over_sentences(scores, memory.mask, membership).exp().mean(1)
