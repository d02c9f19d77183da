from functools import partial
from itertools import product
from typing import Literal

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention import skeinformer
from sumpool.core.attention.skeinformer import SkeinformerAttention, SkeinformerAttentionConfig
from sumpool.core.nn.low_rank import sample_tokens
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens

Sampling = Literal["importance", "uniform"]
Normalization = Literal["adaptive", "simple", "none", "unweighted"]


def naive(attention: SkeinformerAttention, states: Tensor) -> Tensor:
    """Output of one document."""
    config, count = attention.config, len(states)
    query, key, value = project(attention, states)
    full, mask, size = (query @ key.mT / 2).exp(), torch.ones(1, count, dtype=torch.bool), min(config.samples, count)
    exact = full / full.sum(2, keepdim=True)
    pilot = sample_tokens(mask, size, config.seed, 0)[0][0]
    index, _, odds = (part[0] for part in attention._draw(exact[None, :, pilot], value[None], mask, config.seed))
    times = F.one_hot(index, count)  # (heads, samples, length)
    if config.row_normalization in ("none", "unweighted"):
        weights = exact * (times / odds[..., None]).sum(1)[:, None]
    else:
        drawn = times.sum(1)[:, None] > 0  # (heads, 1, length)
        mean = (full.log() * drawn).sum(2, keepdim=True).div(size).exp()
        others = mean if config.row_normalization == "adaptive" else torch.zeros_like(mean)
        weights = torch.where(drawn, full, others)
        weights = weights / weights.sum(2, keepdim=True)
    if config.reuse_pilot:
        weights = weights.index_copy(1, pilot, exact[:, pilot])
    return mix(attention, weights, value)


@pytest.mark.parametrize(
    ("sampling", "row_normalization", "reuse_pilot"),
    [*product(("importance", "uniform"), ("adaptive", "simple", "none", "unweighted"), (True, False))],
)
def test_equals_explicit_weights(
    sampling: Sampling, row_normalization: Normalization, reuse_pilot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeinformer, "MAX_WEIGHTS", 2000)
    config = SkeinformerAttentionConfig(
        samples=7, sampling=sampling, row_normalization=row_normalization, reuse_pilot=reuse_pilot
    )
    attention, tokens = config.build(16, 4).double(), make_tokens(30, 14, 9, 2, 1, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))


def test_keys_that_matter_are_drawn() -> None:
    """Value norms decide where attention is uniform."""
    mask = torch.ones(1, 50, dtype=torch.bool)
    attention = SkeinformerAttentionConfig(samples=10).build(16, 1).double()
    value = torch.ones(1, 1, 50, 16, dtype=torch.float64)
    value[:, :, 20:25] *= 1e4
    counts = torch.zeros(50)
    for seed in range(50):
        index, is_drawn, _ = attention._draw(torch.full((1, 1, 10, 50), 0.02), value, mask, seed)
        assert is_drawn.all()
        assert len(set(index.flatten().tolist())) == 10
        counts[index.flatten()] += 1
    assert (counts[20:25] == 50).all()
    assert counts[:20].max() < 20


def test_importance_is_the_root_of_squared_weights_times_the_norm_of_the_value() -> None:
    config = SkeinformerAttentionConfig(samples=6, row_normalization="none")  # which returns the odds
    weights, value = torch.rand(2, 4, 6, 20).double(), torch.randn(2, 4, 20, 4).double()
    mask = torch.arange(20) < torch.tensor([20, 13])[:, None]
    index, _, odds = config.build(16, 4)._draw(weights, value, mask, 0)
    importance = weights.norm(dim=2) * value.norm(dim=3) * mask[:, None]
    expected = 6 * importance / importance.sum(2, keepdim=True)
    torch.testing.assert_close(odds, expected.gather(2, index))


def test_large_scores_do_not_overflow() -> None:
    attention, tokens = SkeinformerAttentionConfig(samples=5).build(16, 4), make_tokens(30, dtype=torch.float32)
    assert attention(tokens.with_states(tokens.states * 1e3)).isfinite().all()
