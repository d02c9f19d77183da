import torch

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.onnx.graphs import EncoderGraph, GrowingCache, decoder_state, encoded_tensors, head_sizes

CONFIG = ModelConfig.model_validate(
    {
        "dim": 16,
        "heads": 2,
        "feed_forward": 32,
        "source_length": 40,
        "target_length": 24,
        "encoder": [
            {"attention": {"kind": "blockwise", "block": 8}, "pool": {"kind": "halving", "keep": 6}},
            {"attention": {"kind": "blockwise", "block": 8}},
        ],
        "decoder": {"layers": 2, "predict_length": True},
        "output": {"kind": "pointer", "key": 8, "preceding": 4},
    }
)


def test_a_search_over_a_growing_cache_is_that_of_the_model() -> None:
    torch.manual_seed(5)
    model = SummarizationModel(CONFIG, 50).double().eval()
    ids = torch.randint(4, 50, (4, 33))
    mask = torch.arange(33) < torch.tensor([[33], [1], [20], [8]])
    memory = model.encode(ids.masked_fill(~mask, 0), mask, torch.arange(33).expand(4, -1) // 5)
    state = model.start(memory, 3)
    torch.set_default_dtype(torch.float64)
    try:
        cache = GrowingCache.empty(head_sizes(model), 4, 3)
    finally:
        torch.set_default_dtype(torch.float32)
    grown = decoder_state(encoded_tensors(state), state.previous_token, cache)
    lengths, ranking = [Lengths(2, 20)] * 4, Ranking(beams=3)
    expected = search(model.step, state, lengths, ranking)
    assert search(model.step, grown, lengths, ranking) == expected
    assert len({hypothesis.tokens for [hypothesis, *_] in expected}) == 4


def test_an_encoder_without_shapes_that_depend_on_values_computes_the_same() -> None:
    torch.manual_seed(6)
    model = SummarizationModel(CONFIG, 50).eval()
    graph = EncoderGraph(model)
    for length in (1, 6, 7, 39, 40):
        ids = torch.randint(4, 50, (2, length))
        mask = torch.arange(length) < torch.tensor([[length], [max(1, length // 2)]])
        documents = ids.masked_fill(~mask, 0), mask, torch.zeros_like(ids)
        encoded = graph(*documents)
        for name, expected in encoded_tensors(model.start(model.encode(*documents), 1)).items():
            part = encoded[name][tuple(map(slice, expected.shape))]
            assert torch.allclose(part, expected, atol=1e-5), (length, name)
