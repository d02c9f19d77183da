"""Attention of a summary to sentences, against loops over layers, heads and sentences."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch
from sumpool.interpret.sentence_attention import sentence_attention
from sumpool.special_tokens import EOS

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


def make_batch(*lengths: int) -> Batch:
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, VOCAB, mask.shape).masked_fill(~mask, 0)
    target = torch.randint(5, VOCAB, (len(lengths), 9))
    target[:, 8] = EOS
    target[0, 4:] = torch.tensor([EOS, 0, 0, 0, 0])
    sentences = (torch.arange(max(lengths)) // 7).expand(mask.shape)
    return Batch(ids, mask, sentences, target, tuple(map(str, lengths)))


def one(batch: Batch, number: int) -> Batch:
    real = int(batch.mask[number].sum())
    assert batch.target is not None
    target = batch.target[number : number + 1]
    ids, mask, sentences = (part[number : number + 1, :real] for part in (batch.ids, batch.mask, batch.sentences))
    return Batch(ids, mask, sentences, target, batch.documents[number : number + 1])


@pytest.mark.parametrize("kind", list(CROSS))
def test_it_is_full_attention_summed_over_sentences(kind: str) -> None:
    model, batch = make_model(kind), make_batch(90, 33)
    watched: list[Tensor] = []
    layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
    hooks = [layer.query.register_forward_pre_hook(lambda _, given: watched.append(given[0])) for layer in layers]  # type: ignore[union-attr]
    found = sentence_attention(model, batch)
    for hook in hooks:
        hook.remove()
    with torch.no_grad():
        memory = model.encode(batch.ids, batch.mask, batch.sentences).tokens
        for document, place in ((0, 0), (0, 4), (1, 8)):
            real = memory.mask[document]
            numbers = memory.sentences[document, real]
            for number, layer in enumerate(layers):
                query = layer.query(watched[number][document, place])  # type: ignore[operator]
                key = layer.key_value(memory.states[document, real])[:, :DIM]  # type: ignore[operator]
                parts = zip(query.chunk(HEADS), key.chunk(HEADS, dim=1), strict=True)
                weights = torch.stack([(k @ q / (DIM / HEADS) ** 0.5).softmax(0) for q, k in parts]).mean(0)
                expected = torch.stack([weights[numbers == sentence].sum() for sentence in numbers.unique()])
                torch.testing.assert_close(found[document][number][place], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", list(CROSS))
def test_only_what_is_real_is_told(kind: str) -> None:
    model, batch = make_model(kind), make_batch(90, 33, 5)
    found = sentence_attention(model, batch)
    assert [layers[0].size(0) for layers in found] == [5, 9, 9]
    assert found[2][0].size(1) == 1
    for number, layers in enumerate(found):
        (alone,) = sentence_attention(model, one(batch, number))
        for shares, expected in zip(layers, alone, strict=True):
            torch.testing.assert_close(shares.sum(1), torch.ones(len(shares), dtype=shares.dtype))
            torch.testing.assert_close(shares, expected[: len(shares)], atol=1e-12, rtol=0)


def test_a_model_is_left_as_it_was() -> None:
    model = make_model("full")
    sentence_attention(model, make_batch(30))
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_there_must_be_summaries() -> None:
    with pytest.raises(ValueError, match="batch must have summaries, got documents alone"):
        sentence_attention(make_model("full"), replace(make_batch(30), target=None))


def test_there_must_be_a_query_and_a_key() -> None:
    model = make_model("full")
    del model.decoder.layers[0].cross_attention.key_value  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="cross_attention must give words a query and a key, got FullCrossAttention"):
        sentence_attention(model, make_batch(30))
