"""Causal attention, tested on every variant that has the setting: tokens attend to earlier tokens only."""

from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.attention.synthesizer import SynthesizerKind
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from tests.core.attention.checks import assert_exact_gradient
from tests.core.attention.test_contract import FAST
from tests.core.batches import make_tokens

SMALL = {"block": 4, "window": 6, "bucket": 4, "stride": 4, "columns": 2, "features": 8, "length": 160}
"""Settings with which a document of 16 tokens has several blocks, windows, rows and chunks."""
WITH_POSITIONS: list[dict[str, object]] = [{}, {"positions": "rotary"}, {"positions": "relative"}]
SETTINGS: dict[str, list[dict[str, object]]] = {
    "vanilla": WITH_POSITIONS,
    "blockwise": WITH_POSITIONS,
    "sparse": [{}, {"pattern": "strided"}],
    "sliding_window": WITH_POSITIONS,
    "dilated": WITH_POSITIONS,
    "lsh": [{}, {"local_heads": 3}],
    "synthesizer": [{"scores": scores} for scores in get_args(SynthesizerKind)],
}
CAUSAL = [
    (kind, settings)
    for kind in kinds("sumpool.core.attention")
    if "causal" in config_class("sumpool.core.attention", kind).model_fields
    for settings in SETTINGS.get(kind, [{}])
]

CAUSAL_FAST = [next(case for case in CAUSAL if case[0] == kind) for kind in FAST]
"""A case of each kind whose gradient is tested without --slow."""


def build(kind: str, settings: dict[str, object], causal: bool) -> Attention:
    """Build a kind with small sizes, where it has such settings, and random position parameters."""
    variant = config_class("sumpool.core.attention", kind)
    small = {name: value for name, value in SMALL.items() if name in variant.model_fields}
    config = variant.model_validate({**small, **settings, "causal": causal})
    assert isinstance(config, AttentionConfig)
    attention = config.build(16, 4).double().eval()
    for name, parameter in attention.named_parameters():
        if name.startswith("positions."):
            nn.init.normal_(parameter)
    return attention


def weights_of(attention: Attention, states: Tensor) -> Tensor:
    """Attention weights (heads, length, length) of 16 tokens (length, dim), by one-hot values for four at a time."""
    project, out = attention.get_submodule("project"), attention.get_submodule("out")
    assert isinstance(project, nn.Linear)
    assert isinstance(out, nn.Linear)
    out.weight.data.copy_(torch.eye(16))
    out.bias.data.zero_()
    parts = []
    for group in torch.eye(16, dtype=torch.float64).split(4, dim=1):
        project.weight.data[-16:] = torch.linalg.solve(states, group.repeat(1, 4)).T
        project.bias.data[-16:] = 0
        mixed = attention(Tokens.of_states(states[None], positions=torch.arange(16)[None]))[0].detach()
        parts.append(mixed.view(16, 4, 4).transpose(0, 1))
    return torch.cat(parts, dim=2)


@pytest.mark.parametrize(("kind", "settings"), [case for case in CAUSAL if case[0] != "lsh"])
def test_causal_weights_are_those_of_earlier_tokens(kind: str, settings: dict[str, object]) -> None:
    """Except LSH, with which the weight of a token on itself depends on others; it is tested with the variant."""
    causal, full = (build(kind, settings, is_causal) for is_causal in (True, False))
    full.load_state_dict(causal.state_dict())
    states = make_tokens(16).states[0]
    expected = weights_of(full, states).tril()
    torch.testing.assert_close(weights_of(causal, states), expected / expected.sum(2, keepdim=True), atol=1e-8, rtol=0)


@pytest.mark.parametrize(("kind", "settings"), CAUSAL)
def test_later_tokens_change_no_causal_output(kind: str, settings: dict[str, object]) -> None:
    attention, tokens = build(kind, settings, causal=True), make_tokens(150, 21)
    states = tokens.states.clone().requires_grad_()
    mixed = attention(tokens.with_states(states))
    for last in (0, 13, 100):
        (gradient,) = torch.autograd.grad(mixed[0, : last + 1].square().sum(), states, retain_graph=True)
        assert (gradient[0, last + 1 :] == 0).all()
        assert (gradient[0, : last + 1] != 0).any()
        if kind == "lsh":
            continue  # later tokens decide where chunks begin
        changed = states.detach().clone()
        changed[0, last + 1 :] = torch.randn(changed[0, last + 1 :].shape, dtype=torch.float64)
        other = attention(tokens.with_states(changed))
        torch.testing.assert_close(other[0, : last + 1], mixed[0, : last + 1], atol=1e-10, rtol=0)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [pytest.param(*case, marks=[] if case in CAUSAL_FAST else pytest.mark.slow) for case in CAUSAL],
)
def test_the_causal_gradient_is_exact(kind: str, settings: dict[str, object]) -> None:
    """Hashes of LSH attention carry no gradient, and are constant around these states."""
    assert_exact_gradient(build(kind, settings, causal=True), make_tokens(6, 1))
