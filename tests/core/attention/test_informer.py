import math
from collections.abc import Callable
from itertools import product
from typing import Literal

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention.informer import InformerAttention, InformerAttentionConfig
from sumpool.core.nn.low_rank import sample_keys_of_queries, sample_tokens
from sumpool.core.tokens import Tokens
from tests.core.attention.checks import assert_exact_gradient


def explicit_weights(attention: InformerAttention, states: Tensor) -> tuple[Tensor, Tensor]:
    """Implied weights (heads, length, length) and values (heads, length, head_dim) of one document."""
    config, count = attention.config, len(states)
    projected = attention.project(states).chunk(3, dim=-1)
    query, key, value = (part.view(count, 4, 4).transpose(0, 1) for part in projected)
    scores, size = query @ key.mT / 2, min(count, max(1, math.ceil(config.factor * math.log(count))))
    mask = torch.ones(1, count, dtype=torch.bool)
    index = sample_tokens(mask, size, config.seed, 0)[0].expand(count, -1)
    if config.sample == "per_query":
        index = sample_keys_of_queries(mask, size, config.seed)[0]
    sampled = scores.gather(2, index.expand(4, -1, -1))
    measured = sampled.amax(2) - sampled.sum(2) / (size if config.mean_over == "samples" else count)
    active = F.one_hot(measured.topk(size).indices, count).sum(1)[..., None]  # (heads, length, 1)
    return torch.where(active > 0, scores.softmax(2), 1 / count), value


@pytest.mark.parametrize(("sample", "mean_over"), [*product(("shared", "per_query"), ("samples", "length"))])
def test_equals_explicit_weights(
    sample: Literal["shared", "per_query"],
    mean_over: Literal["samples", "length"],
    make_tokens: Callable[..., Tokens],
) -> None:
    config = InformerAttentionConfig(factor=1.5, sample=sample, mean_over=mean_over)
    attention, tokens = config.build(16, 4).double(), make_tokens(30, 14, 11, 2, 1, pad=1e3)
    mixed = attention(tokens)
    for include_self in (True, False):
        received = attention.attention_received(tokens, include_self)
        for number, real in enumerate((30, 14, 11, 2, 1)):
            weights, value = explicit_weights(attention, tokens.states[number, :real])
            expected = attention.out((weights @ value).transpose(0, 1).flatten(1))
            torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)
            if not include_self:
                weights = weights - weights.diagonal(dim1=1, dim2=2).diag_embed()
            torch.testing.assert_close(received[number, :real], weights.sum(1).mean(0), atol=1e-10, rtol=0)


def test_gradients(make_tokens: Callable[..., Tokens]) -> None:
    attention = InformerAttentionConfig(factor=1.1).build(16, 4).double()
    tokens = make_tokens(6, 1)
    assert_exact_gradient(attention, tokens)
