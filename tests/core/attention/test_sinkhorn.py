from functools import partial

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.sinkhorn import SinkhornAttention, SinkhornAttentionConfig
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import assert_equals_naive, mix
from tests.core.batches import alone, make_tokens

LENGTHS = (62, 41, 20, 4, 3, 1)


def build(block: int = 4, **settings: float) -> SinkhornAttention:
    return SinkhornAttention(SinkhornAttentionConfig.model_validate({"block": block} | settings), 16, 4).double().eval()


def heads(values: Tensor, parts: int) -> Tensor:
    """Split (length, features) into (parts, heads, length, head_dim)."""
    return values.view(len(values), parts, 4, 4).permute(1, 2, 0, 3)


def permutation(attention: SinkhornAttention, states: Tensor, noise: Tensor | float = 0.0) -> Tensor:
    """Relaxed permutation (heads, blocks, blocks) of one document, by division of weights."""
    means = torch.stack([block.mean(0) for block in states.split(attention.block_size)])
    query, key = heads(attention.sort(means), 2)
    weights = ((query @ key.mT / 2 + noise) / attention.temperature).exp()
    for _ in range(attention.iterations):
        weights = weights / weights.sum(1, keepdim=True)
        weights = weights / weights.sum(2, keepdim=True)
    result: Tensor = weights
    return result


def naive(attention: SinkhornAttention, states: Tensor, noise: Tensor | float = 0.0) -> Tensor:
    """Output of one document (length, dim)."""
    size, count = attention.block_size, len(states)
    mixture = permutation(attention, states, noise)
    query, key, value = heads(attention.project(states), 3)
    weights = torch.zeros(4, count, count, dtype=states.dtype)
    for head in range(4):
        for token in range(count):
            block = token // size
            keys, rows = [], []  # keys, and what a weight on each of them is on tokens
            for place in range(block * size, min(block * size + size, count)):
                keys.append((query[head, token] @ key[head, place] / 2).exp())
                rows.append(torch.eye(count, dtype=states.dtype)[place])
            for place in range(min(size, count)):
                row = torch.zeros(count, dtype=states.dtype)
                row[place::size] = mixture[head, block, : len(row[place::size])]
                share = row.sum()
                keys.append(share * (query[head, token] @ (row @ key[head]) / share / 2).exp())
                rows.append(row / share)
            weights[head, token] = torch.stack(keys) @ torch.stack(rows) / sum(keys)
    return mix(attention, weights, value)


def test_equals_explicit_weights() -> None:
    attention, tokens = build(), make_tokens(*LENGTHS, 0, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))


def test_noise_of_training_follows_the_seed_and_not_the_batch() -> None:
    attention, tokens = build(), make_tokens(40, 13, length=50, pad=1e3)
    quiet = attention(tokens)
    attention.train()

    def mix(batch: Tokens, seed: int) -> Tensor:
        torch.manual_seed(seed)
        mixed: Tensor = attention(batch)
        return mixed

    noisy = mix(tokens, 1)
    assert (noisy - quiet)[tokens.mask].abs().max() > 1e-3
    assert (noisy - mix(tokens, 2))[tokens.mask].abs().max() > 1e-3
    for number, real in enumerate((40, 13)):
        torch.testing.assert_close(noisy[number, :real], mix(alone(tokens, number), 1)[0], atol=1e-10, rtol=0)
    torch.manual_seed(1)
    noise = attention._noise(10, torch.device("cpu")).double()
    expected = naive(attention, tokens.states[0, :40], noise)
    torch.testing.assert_close(noisy[0, :40], expected, atol=1e-10, rtol=0)


def test_noise_has_the_moments_of_a_gumbel_distribution() -> None:
    noise = build()._noise(200, torch.device("cpu"))
    assert noise.isfinite().all()
    assert abs(noise.mean() - 0.5772) < 0.01
    assert abs(noise.var() - torch.pi**2 / 6) < 0.03


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_gradients_are_finite(scale: float) -> None:
    """Large states make shares of blocks vanish."""
    attention, tokens = build().float(), make_tokens(62, 9, 0, dtype=torch.float32)
    states = (tokens.states * scale).requires_grad_()
    attention(tokens.with_states(states)).square().sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in attention.parameters())
