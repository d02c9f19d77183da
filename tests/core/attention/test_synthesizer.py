from typing import get_args

import pytest
import torch
from torch import Tensor

from sumpool.core.attention.synthesizer import SynthesizerAttention, SynthesizerAttentionConfig, SynthesizerKind
from tests.core.attention.checks import assert_equals_naive, mix
from tests.core.batches import make_tokens

KINDS: tuple[SynthesizerKind, ...] = get_args(SynthesizerKind)


def naive_scores(attention: SynthesizerAttention, states: Tensor) -> Tensor:
    """Scores (heads, length, length) for one document (length, dim), place by place."""
    scores = torch.empty(4, len(states), len(states), dtype=torch.float64)
    factors = list(attention.factors)
    for head in range(4):
        for place, state in enumerate(states):
            if attention.widen is None:
                row = factors[0][head, place] if len(factors) == 1 else factors[1][head] @ factors[0][head, place]
            else:
                query = attention.widen(state).relu()[4 * head : 4 * head + 4]
                row = query @ factors[0][head]
                if len(factors) == 2:
                    row = torch.kron(row, query @ factors[1][head])
            scores[head, place] = row[: len(states)]
    return scores


@pytest.mark.parametrize("scores", KINDS)
def test_equals_explicit_weights(scores: SynthesizerKind) -> None:
    attention = SynthesizerAttentionConfig(scores=scores, length=31).build(16, 4).double()
    tokens = make_tokens(30, 11, 1, pad=1e3)

    def naive(states: Tensor) -> Tensor:
        value = attention.project(states).view(len(states), 4, 4).transpose(0, 1)
        return mix(attention, naive_scores(attention, states).softmax(2), value)

    assert_equals_naive(attention, tokens, naive)


@pytest.mark.parametrize("scores", KINDS)
def test_every_form_has_gradients(scores: SynthesizerKind) -> None:
    attention, tokens = SynthesizerAttentionConfig(scores=scores, length=31).build(16, 4).double(), make_tokens(30, 0)
    attention(tokens)[tokens.mask].square().sum().backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name
