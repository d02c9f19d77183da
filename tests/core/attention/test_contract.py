"""Contract of self-attention, tested on every variant in the package."""

from collections.abc import Sequence

import pytest
import torch
import yaml
from torch import Tensor, nn

from sumpool.core.attention._base import Attention, AttentionConfig, SoftmaxAttention
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from tests.core.attention.checks import attend
from tests.core.batches import make_tokens
from tests.core.test_families import FAST, shortened

KINDS = kinds("sumpool.core.attention")
WITH_POSITIONS = ("vanilla", "blockwise", "dilated", "sliding_window")
POSITION_VARIANTS = [f"{kind} positions={positions}" for kind in WITH_POSITIONS for positions in ("rotary", "relative")]
VARIANTS = KINDS + POSITION_VARIANTS


def build(variant: str) -> Attention:
    """Build a kind with settings such as `shifted=3`; position parameters are random instead of 0."""
    kind, *settings = variant.split()
    chosen = {name: yaml.safe_load(value) for name, _, value in (setting.partition("=") for setting in settings)}
    config = config_class("sumpool.core.attention", kind).model_validate(shortened("attention", kind) | chosen)
    assert isinstance(config, AttentionConfig)
    attention = config.build(16, 4).double().eval()
    for name, parameter in attention.named_parameters():
        if name.startswith("positions."):
            nn.init.normal_(parameter)
    return attention


def over(variants: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test for every variant, those beside `FAST` as slow."""
    marked = [pytest.param(variant, marks=[] if variant in FAST else pytest.mark.slow) for variant in variants]
    return pytest.mark.parametrize("variant", marked)


def test_documents_can_be_split_at_blocks() -> None:
    tokens = make_tokens(275)
    for attention in map(build, VARIANTS):
        if attention.block is not None:
            parts = [part.split(attention.block, 1) for part in (tokens.states, tokens.mask, tokens.positions)]
            joined = torch.cat([attention(Tokens.of_states(*part)) for part in zip(*parts, strict=True)], dim=1)
            torch.testing.assert_close(joined, attention(tokens), atol=1e-12, rtol=0, msg=str(attention.config))


@over(VARIANTS)
def test_float32_agrees_with_float64(variant: str) -> None:
    attention = build(variant)
    tokens = make_tokens(150, 25)
    expected = attention(tokens)
    mixed = attention.float()(tokens.with_states(tokens.states.float()))
    # Weights that do not sum to 1 give outputs that grow with the length, and their rounding with them.
    largest = max(1.0, float(expected[tokens.mask].detach().abs().max()))
    torch.testing.assert_close(mixed[tokens.mask].double(), expected[tokens.mask], atol=1e-5 * largest, rtol=0)


@over(VARIANTS)
def test_half_precision_agrees_with_float64(variant: str, half_precision: torch.dtype) -> None:
    attention, tokens = build(variant), make_tokens(40, 7)
    expected = attention(tokens)
    received = attention.attention_received(tokens, True) if isinstance(attention, SoftmaxAttention) else None
    states = tokens.states.to(half_precision)
    mixed = attention.to(half_precision)(tokens.with_states(states))
    torch.testing.assert_close(mixed[tokens.mask].double(), expected[tokens.mask], atol=0.05, rtol=0)
    if isinstance(attention, SoftmaxAttention):
        half_received = attention.attention_received(tokens.with_states(states), include_self=True)
        torch.testing.assert_close(half_received.double(), received, atol=0.05, rtol=0)
    mixed[tokens.mask].square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters() if parameter.grad is not None)


@over(VARIANTS)
def test_all_documents_may_be_empty(variant: str) -> None:
    for lengths in ((0, 0), None):
        tokens = make_tokens(0, 0, length=9)
        attend(build(variant), tokens.with_lengths(lengths) if lengths else tokens)


WITH_EXACT_GRADIENTS = [
    "global_tokens window=2 tokens=3",
    "informer factor=1.1",
    "kernelized normalize=false",
    "kernelized normalize=true",
    "lsh bucket=2 hashes=2 local_heads=1",
    "nystrom landmarks=3 kernel=3",
    "routing clusters=4",
    "sinkhorn block=2",
    *(f"skeinformer samples=3 sampling=uniform row_normalization={kind}" for kind in ("adaptive", "simple", "none")),
    "skyformer landmarks=5",
    "sliding_window window=2 global_first=true positions=relative",
    "vanilla positions=rotary",
]
"""Attentions that detach something, select by values, or compute weights again."""


@pytest.mark.parametrize("variant", WITH_EXACT_GRADIENTS)
def test_gradient_is_exact(variant: str) -> None:
    """Draws, hashes and clusters have no gradient, and are constant around these states.

    Every state varies in three random directions, and every output is seen in three: a wrong derivative is one in
    these too, and the whole matrix of derivatives would take ten times as long.
    """
    attention, tokens = build(variant), make_tokens(6, 1)
    directions, views = torch.randn(2, 3, 16, dtype=torch.float64)

    def move(steps: Tensor) -> Tensor:
        mixed = attention(tokens.with_states(tokens.states + steps @ directions))
        seen: Tensor = mixed[tokens.mask] @ views.T
        return seen

    assert torch.autograd.gradcheck(move, torch.zeros(*tokens.mask.shape, 3, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize(
    "variant",
    ["informer redraw=true factor=1", "skeinformer redraw=true samples=5", "skyformer redraw=true landmarks=8"],
)
def test_draws_are_new_in_training_only(variant: str) -> None:
    attention, tokens = build(variant).train(), make_tokens(300)
    torch.manual_seed(3)
    first, second = (attention(tokens) for _ in range(2))
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(attention(tokens), first)
    attention.eval()
    assert torch.equal(attention(tokens), attention(tokens))


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("convolutional kernel=2", "kernel must be at least stride = 3, got 2; no token may be skipped"),
        ("efficient local_heads=4", "local_heads must be less than heads = 4, got 4; lower it"),
        ("lsh local_heads=4", "local_heads must be less than heads = 4, got 4; lower it"),
        ("nystrom kernel=4", "must be odd, or 0 for no convolution, got 4"),
        ("permuted_blocks shifted=5", "shifted must be at most heads = 4, got 5; lower it"),
        ("sliding_window window=7", "must be even, got 7; half of it lies on either side"),
        ("sparse stride=4 columns=5", "columns must be at most stride = 4, got 5"),
    ],
)
def test_settings_that_do_not_suit_each_other_are_refused(variant: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(variant)
