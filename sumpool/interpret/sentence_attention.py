"""How a summary's attention is shared out among the sentences of its document (Manakul and Gales, 2021, Equation 4).

It is the attention that a cross-attention's queries and keys give to all words, whatever it then lets be seen: of full
cross-attention what it does, of a selection what it chooses from. Heads are averaged, as for the paper's Figure 1.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from sumpool.core.cross_attention._base import CrossAttention
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.sentences import Sentences, share_words
from sumpool.core.tokens import Tokens
from sumpool.data.batches import Batch


@torch.inference_mode()
def sentence_attention(model: SummarizationModel, batch: Batch) -> list[list[Tensor]]:
    """Read reference summaries by teacher forcing and watch every layer of the decoder.

    Args:
        model: In evaluation mode.
        batch: Documents with summaries, on the model's device.

    Returns:
        For each document and layer (target, sentences), real tokens and sentences only; each row sums to 1. Sentences
        are those that have a vector in the memory, in their order.

    Raises:
        ValueError: If the batch has no summaries, or a cross-attention has no query and key of each word.
    """
    if batch.target is None:
        raise ValueError("batch must have summaries, got documents alone")
    layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
    query, key = ([_part(layer, name) for layer in layers] for name in ("query", "key_value"))
    memory = model.encode(batch.ids, batch.mask, batch.sentences)
    asked: dict[int, Tensor] = {}
    hooks = [layer.register_forward_pre_hook(_note(asked, number)) for number, layer in enumerate(layers)]
    try:
        model.score(memory, batch.target)
    finally:
        for hook in hooks:
            hook.remove()
    found = Sentences.find(memory.tokens)
    shares = [
        _share_out(query[number](asked[number]), key[number], memory.tokens, found, model.config.heads)
        for number in range(len(layers))
    ]
    sentences, real = found.mask.sum(1), (batch.target != batch.pad).sum(1)
    return [
        [layer[number, : real[number], : sentences[number]] for layer in shares]
        for number in range(len(batch.documents))
    ]


def _part(layer: CrossAttention, name: str) -> nn.Linear:
    part = dict(layer.named_children()).get(name)
    if not isinstance(part, nn.Linear):
        raise ValueError(f"cross_attention must give words a query and a key, got {type(layer).__name__}")
    return part


def _note(asked: dict[int, Tensor], number: int) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
    def note(layer: nn.Module, given: tuple[Tensor, ...]) -> None:
        del layer
        asked[number] = given[0]

    return note


def _share_out(query: Tensor, key_value: nn.Linear, memory: Tokens, sentences: Sentences, heads: int) -> Tensor:
    """Sum full attention over sentences, mean over the heads: (batch, target, sentences)."""
    key, _ = key_value(zero_padding(memory.states, memory.mask)).chunk(2, dim=-1)
    query, key = split_heads(query, heads), split_heads(key, heads)
    scores = query @ key.transpose(2, 3) / query.size(-1) ** 0.5  # (batch, heads, target, length)
    membership = sentences.membership(memory.mask, scores.dtype)
    return share_words(scores, memory.mask, membership).exp().mean(1)
