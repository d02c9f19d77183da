"""Attribution of summary tokens to source tokens, and provenance of pooled vectors."""

from collections.abc import Callable
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
from sumpool.core.tokens import Tokens
from sumpool.data.batches import Batch, collate
from sumpool.data.shards import Item
from sumpool.interpret import attribute, provenance, source_weights
from sumpool.settings import config_class, kinds
from sumpool.special_tokens import EOS, SpecialTokens


def random_batch(vocab_size: int, *lengths: int) -> Batch:
    """Documents of these lengths with sentences of seven tokens; the first summary is shorter than the others."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, vocab_size, mask.shape).masked_fill(~mask, 0)
    target = torch.randint(5, vocab_size, (len(lengths), 9))
    target[:, 8] = EOS
    target[0, 4:] = torch.tensor([EOS, 0, 0, 0, 0])
    sentences = (torch.arange(max(lengths)) // 7).expand(mask.shape)
    return Batch(ids, mask, sentences, target, tuple(map(str, lengths)))


VOCAB, DIM, HEADS = 30, 16, 2
POOLED = {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 24}}
TWICE: list[Any] = [POOLED, {"attention": {"kind": "vanilla"}, "pool": {"kind": "halving", "keep": 7}}]


def make_model(output: dict[str, Any], cross: str = "full") -> SummarizationModel:
    torch.manual_seed(1)
    settings = {"dim": DIM, "heads": HEADS, "feed_forward": 32, "encoder": TWICE, "output": output}
    settings["decoder"] = {"cross_attention": {"kind": cross}}
    return SummarizationModel(ModelConfig.model_validate(settings), VOCAB).double().eval()


def one(batch: Batch, row: int) -> Batch:
    length = int(batch.mask[row].sum())
    assert batch.target is not None
    target = batch.target[row : row + 1]
    target = target[:, : int((target != 0).sum())]
    ids, mask, sentences = (part[row : row + 1, :length] for part in (batch.ids, batch.mask, batch.sentences))
    return Batch(ids, mask, sentences, target, batch.documents[row : row + 1])


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


@pytest.mark.parametrize("output", [{"kind": "pointer", "key": 8, "preceding": 8}, {"kind": "tied"}])
def test_equals_loops_over_tokens(output: dict[str, Any]) -> None:
    model, batch = make_model(output), one(random_batch(VOCAB, 40, 9), 0)
    assert batch.target is not None
    attention, _ = attribute(model, batch)
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
    model, batch = make_model({"kind": "pointer", "key": 8, "preceding": 8}), one(random_batch(VOCAB, 40, 9), 0)
    assert batch.target is not None
    _, copied = attribute(model, batch)
    with torch.no_grad():
        memory = model.encode(batch.ids, batch.mask, batch.sentences)
        history = model.history(batch.target)
        decoded = model.decoder(history[..., 0], model.decoder.precompute(memory.tokens), None, None)
        cache = model.output.precompute(memory.ids, memory.source, memory.tokens, memory.mixtures)
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
    model = make_model({"kind": "pointer", "copies": copies}, cross=cross)
    for row, length in enumerate((40, 9, 3)):
        attention, copied = attribute(model, one(random_batch(VOCAB, 40, 9, 3), row))
        assert attention.shape == copied.shape
        assert attention.size(1) == length
        torch.testing.assert_close(attention.sum(1), torch.ones(len(attention)).double(), atol=1e-12, rtol=0)
        assert (copied.sum(1) <= 1 + 1e-12).all()


def test_hooks_are_removed() -> None:
    model = make_model({"kind": "tied"})
    attribute(model, one(random_batch(VOCAB, 30), 0))
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())


LINEAR = [kind for kind in kinds("sumpool.core.pooling") if kind not in ("funnel", "distilling")]


def test_rows_of_provenance_sum_to_one_through_three_poolings() -> None:
    encoder = [{**POOLED, "pool": {"kind": "halving", "keep": keep}} for keep in (100, 30, 7)]
    memory = encode(encoder, 256, 90, 5, 31)
    for matrix, length in zip(provenance(memory), (256, 90, 5, 31), strict=True):
        assert matrix.shape == (min(length, 7), length)
        torch.testing.assert_close(matrix.to_dense().sum(1), torch.ones(matrix.shape[0]).double(), rtol=0, atol=1e-12)
        assert (matrix.values() > 0).all()
        assert matrix.values().numel() <= length, "every token of a tournament belongs to one survivor"


def test_without_pooling_provenance_is_the_identity() -> None:
    memory = encode([{"attention": {"kind": "vanilla"}}], 9, 4)
    for matrix, length in zip(provenance(memory), (9, 4), strict=True):
        assert torch.equal(matrix.to_dense(), torch.eye(length, dtype=torch.float64))


@pytest.mark.parametrize("kind", LINEAR)
def test_provenance_reproduces_the_pooled_vectors(kind: str) -> None:
    torch.manual_seed(2)
    config = config_class("sumpool.core.pooling", kind)
    mask = torch.arange(150) < torch.tensor([150, 61, 9, 3])[:, None]
    indices = torch.arange(150).expand(mask.shape)
    states = torch.randn(*mask.shape, DIM, dtype=torch.float64)
    tokens = source = Tokens.from_source(states, mask, indices // 9, indices // 2, indices % VOCAB)
    mixtures: list[Callable[[], Mixture]] = []
    for keep in (40, 9):
        pooler = config.model_validate({"keep": keep} if "keep" in config.model_fields else {})
        assert isinstance(pooler, PoolerConfig)
        output = pooler.build(nn.Embedding(VOCAB, DIM)).double().eval()(tokens)
        tokens, mixtures = output.tokens, [*mixtures, output.mixture]
    for number, matrix in enumerate(provenance(Memory(tokens, source, source.ids, mixtures))):
        vectors, length = matrix.shape
        expected = tokens.states[number, :vectors].detach()
        torch.testing.assert_close(matrix @ source.states[number, :length], expected, rtol=0, atol=1e-12)
        assert vectors == int(tokens.mask[number].sum())


def encode(encoder: list[dict[str, Any]], *lengths: int) -> Memory:
    torch.manual_seed(1)
    sizes = {"dim": DIM, "heads": HEADS, "feed_forward": 32, "source_length": 300}
    model = SummarizationModel(ModelConfig.model_validate({**sizes, "encoder": encoder}), VOCAB).eval()
    batch = random_batch(VOCAB, *lengths)
    return model.encode(batch.ids, batch.mask, batch.sentences)


def make_summarizer(special_tokens: SpecialTokens | None = None) -> SummarizationModel:
    torch.manual_seed(1)
    settings: dict[str, Any] = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200, "target_length": 20}
    settings["encoder"] = [
        {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 20}},
    ]
    config = ModelConfig.model_validate(settings)
    model = SummarizationModel(config, 60, special_tokens=special_tokens or SpecialTokens())
    with torch.no_grad():
        model.embedding.weight *= 2
    return model.double().eval()


def make_item(sentences: int = 20, words: int = 6) -> Item:
    """A document of equally long sentences whose summary is its fourth sentence."""
    ids = np.random.default_rng(1).integers(5, 60, sentences * words).astype(np.uint16)
    return Item("1", ids, np.repeat(np.arange(sentences, dtype=np.int32), words), ids[3 * words : 4 * words].copy())


def naive(model: SummarizationModel, chunk: Item, target: list[list[int]], skipped: tuple[int, ...] = ()) -> np.ndarray:
    """Weights (summary sentences, sentences of a chunk) that sum to 1."""
    prefix = model.special_tokens.prefix
    ids = np.array([*prefix, *(token for sentence in target for token in sentence)])
    batch = collate([replace(chunk, target=ids)], 200, 20, special_tokens=model.special_tokens)
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
    model, chunk, target = make_summarizer(), make_item(8), [[7, 8, 9], [11, 12]]
    weights = source_weights(model, chunk, target)
    np.testing.assert_allclose(weights, naive(model, chunk, target), rtol=0, atol=1e-12)


def test_long_summaries_are_attributed_in_groups() -> None:
    model, chunk = make_summarizer(), make_item(8)
    target = [list(range(5, 14)), list(range(15, 24)), list(range(25, 34)), list(range(5, 45)), [7]]
    weights = source_weights(model, chunk, target)
    groups = [target[:2], target[2:3], target[3:4], target[4:]]
    expected = [naive(model, chunk, [part[:20] for part in group]) for group in groups]
    np.testing.assert_allclose(weights, np.concatenate(expected), rtol=0, atol=1e-10)


def test_special_tokens_have_no_weight() -> None:
    model = make_summarizer(SpecialTokens(prefix=(2,), suffix=(3,)))
    item = make_item(4)
    ids, sentences = (np.pad(values, 1, mode="edge") for values in (item.ids, item.sentences))
    ids[0], ids[-1] = 2, 3
    chunk, target = replace(item, ids=ids, sentences=sentences), [[7, 8], [9]]
    weights = source_weights(model, chunk, target)
    np.testing.assert_allclose(weights, naive(model, chunk, target, (0, len(ids) - 1)), rtol=0, atol=1e-10)
