"""Attribution of summary tokens to source tokens, and provenance of pooled vectors."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.encoder import Memory
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import PoolerConfig
from sumpool.data.batches import Batch, collate
from sumpool.data.shards import Item
from sumpool.interpret import attribute, provenance, source_weights
from sumpool.settings import config_class, kinds
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, EOS, SpecialTokens
from tests.core.batches import make_tokens, mask_of

VOCAB, DIM, HEADS = 30, 16, 2
POINTER = {"kind": "pointer", "key": 8, "preceding": 8}
TIED = {"kind": "tied"}
VANILLA: dict[str, Any] = {"attention": {"kind": "vanilla"}}
TWICE = [{**VANILLA, "pool": {"kind": "halving", "keep": keep}} for keep in (24, 7)]


def make_model(
    output: dict[str, Any] = POINTER,
    cross: str = "full",
    encoder: Sequence[dict[str, Any]] = TWICE,
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS,
) -> SummarizationModel:
    torch.manual_seed(1)
    settings = {"dim": DIM, "heads": HEADS, "feed_forward": 32, "source_length": 300, "target_length": 20}
    decoder = {"cross_attention": {"kind": cross}}
    config = ModelConfig.model_validate({**settings, "encoder": encoder, "decoder": decoder, "output": output})
    model = SummarizationModel(config, VOCAB, special_tokens=special_tokens).double().eval().requires_grad_(False)
    model.embedding.weight *= 2
    return model


def one_document(length: int) -> Batch:
    """A document with sentences of seven tokens and its summary."""
    ids, summary = torch.randint(5, VOCAB, (1, length)), torch.randint(5, VOCAB, (1, 9))
    summary[:, -1] = EOS
    return Batch(ids, torch.ones_like(ids, dtype=torch.bool), torch.arange(length)[None] // 7, summary, ("1",))


def run_steps(model: SummarizationModel, batch: Batch) -> list[list[Tensor]]:
    """Inputs of each cross-attention of one document, token by token."""
    assert batch.target is not None
    memory = model.encode(batch.ids, batch.mask, batch.sentences)
    layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
    queries: list[list[Tensor]] = [[] for _ in layers]
    hooks = [
        layer.query.register_forward_pre_hook(lambda _, args, inputs=inputs: inputs.append(args[0][0, 0]))
        for layer, inputs in zip(layers, queries, strict=True)
    ]
    state, last = model.start(memory, 1), torch.tensor([model.special_tokens.decoder_start])
    for token in batch.target[0]:
        _, state = model.step(last, state)
        last = token[None]
    for hook in hooks:
        hook.remove()
    return queries


@pytest.mark.parametrize("output", [POINTER, TIED])
def test_equals_loops_over_tokens(output: dict[str, Any]) -> None:
    model, batch = make_model(output), one_document(40)
    assert batch.target is not None
    attention, _ = attribute(model, batch)
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())
    with torch.no_grad():
        memory = model.encode(batch.ids, batch.mask, batch.sentences)
        queries = run_steps(model, batch)
        first, second = (mixture() for mixture in memory.mixtures)
        matrix = second.matrix(24)[0] @ first.matrix(40)[0]
        for position in range(batch.target.size(1)):
            expected = torch.zeros(40).double()
            layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
            for layer, inputs in zip(layers, queries, strict=True):
                query, keys = layer.query(inputs[position]), layer.key_value(memory.tokens.states[0])[:, :DIM]
                for q, k in zip(query.chunk(HEADS), keys.chunk(HEADS, dim=1), strict=True):
                    expected += (k @ q / (DIM / HEADS) ** 0.5).softmax(0) @ matrix / (len(layers) * HEADS)
            torch.testing.assert_close(attention[position], expected, atol=1e-12, rtol=0)


def test_copies_are_bayes_rule_over_ablated_sources() -> None:
    """The posterior of a source token is the loss of probability when nothing but its copy is taken away."""
    model, batch = make_model(), one_document(40)
    assert batch.target is not None
    _, copied = attribute(model, batch)
    with torch.no_grad():
        memory = model.encode(batch.ids, batch.mask, batch.sentences)
        history = model.history(batch.target)
        decoded = model.decoder(history[..., 0], model.decoder.precompute(memory.tokens), None, None)
        cache = model.output.precompute(memory.source, memory.tokens, memory.mixtures)
        total = model.output(decoded.states, history, cache)[0].exp()
        for source in range(40):
            ids = cache["ids"].clone()
            ids[0, source] = 1  # its mass is that of another word now
            first = (ids[..., None] == ids[:, None]).int().argmax(-1)
            without = model.output(decoded.states, history, {**cache, "ids": ids, "first": first})[0].exp()
            expected = ((total - without) / total).gather(1, batch.target[0][:, None])[:, 0]
            torch.testing.assert_close(copied[:, source], expected, atol=1e-12, rtol=0)
    assert copied.sum() > 0.1


@pytest.mark.parametrize("copies", ["source", "memory"])
@pytest.mark.parametrize("cross", ["full", "hepos", "sentence"])
def test_attention_and_copies_are_probabilities(copies: str, cross: str) -> None:
    model = make_model({**POINTER, "copies": copies}, cross)
    for length in (40, 9, 3):
        attention, copied = attribute(model, one_document(length))
        assert attention.shape == copied.shape == (9, length)
        torch.testing.assert_close(attention.sum(1), torch.ones(len(attention)).double(), atol=1e-12, rtol=0)
        assert (copied.sum(1) <= 1 + 1e-12).all()


def encode(encoder: Sequence[dict[str, Any]], *lengths: int) -> Memory:
    model, mask = make_model(encoder=encoder).float(), mask_of(*lengths)
    ids = torch.randint(5, VOCAB, mask.shape).masked_fill(~mask, 0)
    return model.encode(ids, mask, torch.zeros_like(ids))


def test_rows_of_provenance_sum_to_one_through_three_poolings() -> None:
    encoder = [{**VANILLA, "pool": {"kind": "halving", "keep": keep}} for keep in (100, 30, 7)]
    memory = encode(encoder, 256, 90, 5, 31)
    for matrix, length in zip(provenance(memory), (256, 90, 5, 31), strict=True):
        assert matrix.shape == (min(length, 7), length)
        torch.testing.assert_close(matrix.to_dense().sum(1), torch.ones(matrix.shape[0]).double(), rtol=0, atol=1e-12)
        assert (matrix.values() > 0).all()
        assert matrix.values().numel() <= length, "every token of a tournament belongs to one survivor"


def test_without_pooling_provenance_is_the_identity() -> None:
    memory = encode([VANILLA], 9, 4)
    for matrix, length in zip(provenance(memory), (9, 4), strict=True):
        assert torch.equal(matrix.to_dense(), torch.eye(length, dtype=torch.float64))


@pytest.mark.parametrize("kind", sorted({*kinds("sumpool.core.pooling")} - {"funnel", "distilling"}))
def test_provenance_reproduces_the_pooled_vectors(kind: str) -> None:
    torch.manual_seed(2)
    config = config_class("sumpool.core.pooling", kind)
    tokens = source = make_tokens(150, 61, 9, 3)
    mixtures: list[Callable[[], Mixture]] = []
    for keep in (40, 9):
        pooler = config.model_validate({"keep": keep} if "keep" in config.model_fields else {})
        assert isinstance(pooler, PoolerConfig)
        output = pooler.build(nn.Embedding(VOCAB, DIM)).double().eval()(tokens)
        tokens, mixtures = output.tokens, [*mixtures, output.mixture]
    for number, matrix in enumerate(provenance(Memory(tokens, source, mixtures))):
        expected = tokens.states[number, tokens.mask[number]].detach()
        torch.testing.assert_close(matrix @ source.states[number, : matrix.size(1)], expected, rtol=0, atol=1e-12)


def make_item(sentences: int) -> Item:
    """A document of sentences of six tokens."""
    ids = np.random.default_rng(1).integers(5, VOCAB, sentences * 6).astype(np.uint16)
    return Item("1", ids, np.repeat(np.arange(sentences, dtype=np.int32), 6), ids[:0])


def naive(model: SummarizationModel, chunk: Item, target: list[list[int]], skipped: tuple[int, ...] = ()) -> np.ndarray:
    """Weights (summary sentences, sentences of a chunk) that sum to 1."""
    prefix = model.special_tokens.prefix
    ids = np.array([*prefix, *(token for sentence in target for token in sentence)])
    batch = collate([replace(chunk, target=ids)], 300, 20, special_tokens=model.special_tokens)
    attention, copied = attribute(model, batch)
    by_token = copied + (1 - copied.sum(1, keepdim=True)) * attention
    weights = np.zeros((len(target), int(chunk.sentences[-1]) + 1))
    position = len(prefix)
    for row, sentence in enumerate(target):
        for _ in sentence:
            for token, source in enumerate(chunk.sentences):
                if token not in skipped:
                    weights[row, source] += float(by_token[position, token])
            position += 1
    return np.asarray(weights / weights.sum(1, keepdims=True))


def test_weights_equal_loops() -> None:
    model, chunk, target = make_model(), make_item(8), [[7, 8, 9], [11, 12]]
    weights = source_weights(model, chunk, target)
    np.testing.assert_allclose(weights, naive(model, chunk, target), rtol=0, atol=1e-12)


def test_long_summaries_are_attributed_in_groups() -> None:
    model, chunk = make_model(), make_item(8)
    target = [list(range(5, 14)), list(range(15, 24)), list(range(10, 19)), [*range(5, 25), *range(5, 25)], [7]]
    weights = source_weights(model, chunk, target)
    groups = [target[:2], target[2:3], target[3:4], target[4:]]
    expected = [naive(model, chunk, [part[:20] for part in group]) for group in groups]
    np.testing.assert_allclose(weights, np.concatenate(expected), rtol=0, atol=1e-10)


def test_special_tokens_have_no_weight() -> None:
    model = make_model(special_tokens=SpecialTokens(prefix=(2,), suffix=(3,)))
    item = make_item(4)
    ids, sentences = (np.pad(values, 1, mode="edge") for values in (item.ids, item.sentences))
    ids[0], ids[-1] = 2, 3
    chunk, target = replace(item, ids=ids, sentences=sentences), [[7, 8], [9]]
    weights = source_weights(model, chunk, target)
    np.testing.assert_allclose(weights, naive(model, chunk, target, (0, len(ids) - 1)), rtol=0, atol=1e-10)
