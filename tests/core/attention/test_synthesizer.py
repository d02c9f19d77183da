from typing import get_args

import pytest

from sumpool.core.attention.synthesizer import SynthesizerAttentionConfig, SynthesizerKind
from tests.core.batches import make_tokens

KINDS: tuple[SynthesizerKind, ...] = get_args(SynthesizerKind)


@pytest.mark.parametrize("scores", KINDS)
def test_every_form_has_gradients(scores: SynthesizerKind) -> None:
    attention, tokens = SynthesizerAttentionConfig(scores=scores, length=31).build(16, 4).double(), make_tokens(30, 0)
    attention(tokens)[tokens.mask].square().sum().backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name
