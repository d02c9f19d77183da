import torch

from sumpool.core.attention.skeinformer import SkeinformerAttentionConfig
from tests.core.batches import make_tokens


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
