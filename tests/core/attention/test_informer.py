import math
from functools import partial
from typing import Literal

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sumpool.core.attention.informer import InformerAttention, InformerAttentionConfig
from sumpool.core.nn.low_rank import sample_tokens
from tests.core.attention.checks import assert_equals_naive, mix, project
from tests.core.batches import make_tokens


def naive(attention: InformerAttention, states: Tensor) -> Tensor:
    """Output of one document."""
    config, count = attention.config, len(states)
    query, key, value = project(attention, states)
    scores, size = query @ key.mT / 2, min(count, max(1, math.ceil(config.factor * math.log(count))))
    mask = torch.ones(1, count, dtype=torch.bool)
    index = sample_tokens(mask, size, config.seed, 0)[0].expand(count, -1)
    sampled = scores.gather(2, index.expand(4, -1, -1))
    measured = sampled.amax(2) - sampled.sum(2) / (size if config.mean_over == "samples" else count)
    active = F.one_hot(measured.topk(size).indices, count).sum(1)[..., None]  # (heads, length, 1)
    return mix(attention, torch.where(active > 0, scores.softmax(2), 1 / count), value)


@pytest.mark.parametrize("mean_over", ["samples", "length"])
def test_equals_explicit_weights(mean_over: Literal["samples", "length"]) -> None:
    config = InformerAttentionConfig(factor=1.5, mean_over=mean_over)
    attention, tokens = config.build(16, 4).double(), make_tokens(30, 14, 11, 2, 1, pad=1e3)
    assert_equals_naive(attention, tokens, partial(naive, attention))
