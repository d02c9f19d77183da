from dataclasses import replace

import torch
from torch import nn

from sumpool.core.boundaries import RandomBoundaries, RandomBoundariesConfig, uniform_draws
from tests.core.batches import make_tokens


def build(rate: float, seed: int) -> RandomBoundaries:
    config = RandomBoundariesConfig(rate=rate)
    return config.build_causal(nn.Embedding(50, 16), torch.zeros(50, dtype=torch.bool), seed)


def test_draws_have_their_rate_and_follow_seed_index_and_id() -> None:
    tokens = make_tokens(20000)
    ends = build(0.3, 1).eval()(tokens).ends
    assert abs(ends.mean().item() - 0.3) < 0.01
    assert torch.equal(ends, build(0.3, 1).eval()(tokens).ends)
    assert not torch.equal(ends, build(0.3, 2).eval()(tokens).ends)
    assert not torch.equal(ends, build(0.3, 1).eval()(replace(tokens, ids=tokens.ids + 1)).ends)
    assert not torch.equal(build(0.3, 1).train()(tokens).ends, build(0.3, 1).train()(tokens).ends)


def test_draws_of_a_part_equal_those_of_the_whole() -> None:
    tokens = make_tokens(300)
    whole = uniform_draws(tokens, 7)
    part = {name: getattr(tokens, name)[:, 100:150] for name in ("states", "mask", "ids")}
    torch.testing.assert_close(
        uniform_draws(replace(tokens, **part, first=torch.tensor([100])), 7), whole[:, 100:150], atol=0, rtol=0
    )
    assert abs(torch.corrcoef(torch.stack([whole[0, 1:], whole[0, :-1]]))[0, 1].item()) < 0.2


def test_neighbouring_draws_are_uncorrelated_where_all_ids_are_equal() -> None:
    tokens = make_tokens(20000)
    draws = uniform_draws(replace(tokens, ids=torch.full_like(tokens.ids, 3)), 0)[0]
    for lag in (1, 2, 3, 7):
        assert abs(torch.corrcoef(torch.stack([draws[lag:], draws[:-lag]]))[0, 1].item()) < 0.03
