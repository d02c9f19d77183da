"""Attribution of summary tokens, against loops in double precision."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch
from sumpool.interpret.attribution import Attribution, attribute, provenance, sum_by_sentence
from tests.interpret.batches import random_batch

VOCAB, DIM, HEADS = 30, 16, 2
POOLED = {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 24}}
TWICE: list[Any] = [POOLED, {"attention": {"kind": "vanilla"}, "pool": {"kind": "halving", "keep": 7}}]


def make_model(output: dict[str, Any], encoder: list[Any] = TWICE) -> SummarizationModel:
    torch.manual_seed(1)
    settings = {"dim": DIM, "heads": HEADS, "feed_forward": 32, "encoder": encoder, "output": output}
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
    (attribution,) = attribute(model, batch)
    with torch.no_grad():
        memory = model.encode(batch.ids, batch.mask, batch.sentences)
        queries = run_steps(model, batch)
        (matrix,) = (weights.to_dense() for weights in provenance(memory))
        for position in range(batch.target.size(1)):
            expected = torch.zeros(40).double()
            layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
            for layer, inputs in zip(layers, queries, strict=True):
                query, keys = layer.query(inputs[position]), layer.key_value(memory.tokens.states[0])[:, :DIM]
                for q, k in zip(query.chunk(HEADS), keys.chunk(HEADS, dim=1), strict=True):
                    expected += (k @ q / (DIM / HEADS) ** 0.5).softmax(0) @ matrix / (len(layers) * HEADS)
            torch.testing.assert_close(attribution.attention[position], expected, atol=1e-12, rtol=0)


def test_copies_are_bayes_rule_over_ablated_sources() -> None:
    """The posterior of a source token is the loss of probability when nothing but its copy is taken away."""
    model, batch = make_model({"kind": "pointer", "key": 8, "preceding": 8}), one(random_batch(VOCAB, 40, 9), 0)
    assert batch.target is not None
    (attribution,) = attribute(model, batch)
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
            torch.testing.assert_close(attribution.copied[:, source], expected, atol=1e-12, rtol=0)
    assert attribution.copied.sum() > 0.1


@pytest.mark.parametrize("copies", ["source", "memory"])
def test_weights_of_both_sum_to_one(copies: str) -> None:
    model, batch = make_model({"kind": "pointer", "copies": copies}), random_batch(VOCAB, 40, 9, 33)
    for attribution in attribute(model, batch):
        sums = attribution.weights().sum(1)
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-12, rtol=0)
        assert (attribution.copied.sum(1) <= 1 + 1e-12).all()


@pytest.mark.parametrize("cross", ["full", "hepos", "sentence"])
def test_padding_and_batch_mates_do_not_change_results(cross: str) -> None:
    torch.manual_seed(1)
    settings = {"dim": DIM, "heads": HEADS, "feed_forward": 32, "encoder": TWICE, "output": {"kind": "pointer"}}
    settings["decoder"] = {"cross_attention": {"kind": cross}}
    model = SummarizationModel(ModelConfig.model_validate(settings), VOCAB).double().eval()
    batch = random_batch(VOCAB, 40, 9, 33)
    for row, attribution in enumerate(attribute(model, batch)):
        (alone,) = attribute(model, one(batch, row))
        assert attribution.attention.shape == alone.attention.shape
        for weights, expected in ((attribution.attention, alone.attention), (attribution.copied, alone.copied)):
            torch.testing.assert_close(weights, expected, atol=1e-12, rtol=0)


def test_sums_by_sentence_equal_loops() -> None:
    weights = torch.rand(6, 11, dtype=torch.float64)
    target, source = torch.tensor([0, 0, 1, 1, 1, 2]), torch.arange(11) // 3
    sums = sum_by_sentence(weights, target, source)
    expected = [[weights[target == i][:, source == j].sum() for j in range(4)] for i in range(3)]
    torch.testing.assert_close(sums, torch.tensor(expected).double(), atol=1e-12, rtol=0)


def test_what_was_not_copied_is_weighted_by_attention() -> None:
    attention, copied = (torch.tensor([row], dtype=torch.float64) for row in ([0.5, 0.5], [0.6, 0.0]))
    attribution = Attribution(attention, copied)
    torch.testing.assert_close(attribution.weights(), torch.tensor([[0.8, 0.2]], dtype=torch.float64))


def test_hooks_are_removed() -> None:
    model = make_model({"kind": "tied"})
    attribute(model, random_batch(VOCAB, 30))
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())


def test_missing_summaries_are_an_error() -> None:
    with pytest.raises(ValueError, match="batch must have summaries to attribute, got documents alone"):
        attribute(make_model({"kind": "tied"}), replace(random_batch(VOCAB, 30), target=None))
