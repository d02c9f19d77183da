"""Attention of a summary to sentences, against loops over layers, heads and sentences."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch
from sumpool.studies.sparsity import sentence_attention
from tests.interpret.test_attribution import random_batch

VOCAB, DIM, HEADS = 60, 16, 2
CROSS = {"full": {"kind": "full"}, "sentence": {"kind": "sentence", "sentences": 2, "selection": {"kind": "random"}}}


def make_model(kind: str) -> SummarizationModel:
    torch.manual_seed(1)
    pool = {"kind": "halving", "keep": 20}
    settings = {
        "dim": DIM,
        "heads": HEADS,
        "feed_forward": 32,
        "encoder": [{"attention": {"kind": "blockwise", "block": 16}, "pool": pool}],
        "decoder": {"layers": 2, "cross_attention": CROSS[kind]},
    }
    return SummarizationModel(ModelConfig.model_validate(settings), VOCAB).double().eval()


def one(batch: Batch, number: int) -> Batch:
    real = int(batch.mask[number].sum())
    assert batch.target is not None
    target = batch.target[number : number + 1]
    ids, mask, sentences = (part[number : number + 1, :real] for part in (batch.ids, batch.mask, batch.sentences))
    return Batch(ids, mask, sentences, target, batch.documents[number : number + 1])


@pytest.mark.parametrize("kind", list(CROSS))
def test_sentence_attention_sums_full_attention_over_sentences(kind: str) -> None:
    model, batch = make_model(kind), random_batch(VOCAB, 90, 33)
    inputs: list[Tensor] = []
    layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
    hooks = [layer.query.register_forward_pre_hook(lambda _, args: inputs.append(args[0])) for layer in layers]
    weights = sentence_attention(model, batch)
    for hook in hooks:
        hook.remove()
    with torch.no_grad():
        memory = model.encode(batch.ids, batch.mask, batch.sentences).tokens
        for document, position in ((0, 0), (0, 4), (1, 8)):
            real = memory.mask[document]
            sentences = memory.sentences[document, real]
            for number, layer in enumerate(layers):
                query = layer.query(inputs[number][document, position])
                key = layer.key_value(memory.states[document, real])[:, :DIM]
                parts = zip(query.chunk(HEADS), key.chunk(HEADS, dim=1), strict=True)
                word_weights = torch.stack([(k @ q / (DIM / HEADS) ** 0.5).softmax(0) for q, k in parts]).mean(0)
                expected = torch.stack([word_weights[sentences == sentence].sum() for sentence in sentences.unique()])
                torch.testing.assert_close(weights[document][number][position], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", list(CROSS))
def test_padding_is_omitted(kind: str) -> None:
    model, batch = make_model(kind), random_batch(VOCAB, 90, 33, 5)
    weights = sentence_attention(model, batch)
    assert [layers[0].size(0) for layers in weights] == [5, 9, 9]
    assert weights[2][0].size(1) == 1
    for number, layers in enumerate(weights):
        (alone,) = sentence_attention(model, one(batch, number))
        for actual, expected in zip(layers, alone, strict=True):
            torch.testing.assert_close(actual.sum(1), torch.ones(len(actual), dtype=actual.dtype))
            torch.testing.assert_close(actual, expected[: len(actual)], atol=1e-12, rtol=0)


def test_hooks_are_removed() -> None:
    model = make_model("full")
    sentence_attention(model, random_batch(VOCAB, 30))
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_missing_summaries_are_an_error() -> None:
    with pytest.raises(ValueError, match="batch must have summaries, got documents alone"):
        sentence_attention(make_model("full"), replace(random_batch(VOCAB, 30), target=None))
