"""Source tokens and weights of pooled vectors."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.core.nn.states import Mixture
from sumpool.core.pooling._base import PoolerConfig
from sumpool.core.tokens import Tokens
from sumpool.interpret.attribution import provenance
from sumpool.settings import config_class, kinds

VOCAB = 60
LINEAR = [kind for kind in kinds("sumpool.core.pooling") if kind not in ("funnel", "distilling")]


def make_memory(encoder: Sequence[object], *lengths: int) -> Memory:
    torch.manual_seed(1)
    sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 300}
    model = SummarizationModel(ModelConfig.model_validate({**sizes, "encoder": encoder}), VOCAB).eval()
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, VOCAB, mask.shape).masked_fill(~mask, 0)
    return model.encode(ids, mask, torch.arange(max(lengths)).expand(mask.shape) // 7)


def pooled(keep: int) -> dict[str, object]:
    return {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": keep}}


def test_rows_sum_to_one_through_three_poolings() -> None:
    memory = make_memory([pooled(100), pooled(30), pooled(7)], 256, 90, 5, 31)
    for number, matrix in enumerate(provenance(memory)):
        length = int(memory.source.mask[number].sum())
        assert matrix.shape == (min(length, 7), length)
        torch.testing.assert_close(matrix.to_dense().sum(1), torch.ones(matrix.shape[0]).double(), rtol=0, atol=1e-12)
        assert (matrix.values() > 0).all()
        assert matrix.values().numel() <= length, "every token of a tournament belongs to one survivor"


def test_the_heaviest_source_token_is_the_origin_of_one_pooling() -> None:
    memory = make_memory([pooled(12)], 200, 33)
    for number, matrix in enumerate(provenance(memory)):
        heaviest = matrix.to_dense().argmax(1)
        assert heaviest.tolist() == memory.tokens.origin[number, : len(heaviest)].tolist()


def test_without_pooling_provenance_is_the_identity() -> None:
    memory = make_memory([{"attention": {"kind": "vanilla"}}], 9, 4)
    for matrix, length in zip(provenance(memory), (9, 4), strict=True):
        assert torch.equal(matrix.to_dense(), torch.eye(length, dtype=torch.float64))


@pytest.mark.parametrize("kind", LINEAR)
def test_the_product_reproduces_the_pooled_vectors(kind: str) -> None:
    torch.manual_seed(2)
    config = config_class("sumpool.core.pooling", kind)
    settings = [{"keep": keep} if "keep" in config.model_fields else {} for keep in (40, 9)]
    configs = [config.model_validate(values) for values in settings]
    poolers = [
        pooler.build(nn.Embedding(VOCAB, 16)).double().eval() for pooler in configs if isinstance(pooler, PoolerConfig)
    ]
    tokens = source = make_tokens(150, 61, 9, 3)
    mixtures: list[Callable[[], Mixture]] = []
    for pooler in poolers:
        output = pooler(tokens)
        tokens, mixtures = output.tokens, [*mixtures, output.mixture]
    for number, matrix in enumerate(provenance(Memory(tokens, source, source.ids, mixtures))):
        vectors, length = matrix.shape
        expected = tokens.states[number, :vectors].detach()
        torch.testing.assert_close(matrix @ source.states[number, :length], expected, rtol=0, atol=1e-12)
        assert vectors == int(tokens.mask[number].sum())


def make_tokens(*lengths: int) -> Tokens:
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    indices: Tensor = torch.arange(max(lengths)).expand(mask.shape)
    states = torch.randn(*mask.shape, 16, dtype=torch.float64)
    return Tokens.from_source(states, mask, indices // 9, indices // 2, indices % VOCAB)
