"""What every pooler keeps, tested on every variant found in the folder."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.pooling._base import Keep, Pooled, Pooler, PoolerConfig
from sumpool.core.tokens import Tokens
from sumpool.variants import config_class, kinds

FAMILY = "sumpool.core.pooling"
KINDS = kinds(FAMILY)
KEEPING = [kind for kind in KINDS if "keep" in config_class(FAMILY, kind).model_fields]
CASES: dict[str, list[dict[str, object]]] = {
    "halving": [{}, {"sort": "once"}, {"sort": "never"}, {"inference": "hard"}, {"peak": {"kind": "plain"}}],
    "hard": [{}, {"gradient": "none"}],
    "iterative": [{}, {"sharpness": 100}],
    "funnel": [
        {"combine": combine, "window": window, "stride": stride}
        for combine in ("mean", "max")
        for window, stride in ((4, 4), (1, 1), (1, 3), (5, 2), (3, 5), (64, 16))
    ],
    "segments": [
        {"boundaries": {"kind": boundaries}, "combine": combine}
        for boundaries in ("fixed", "whitespace", "sentence")  # those that learn have a contract of their own
        for combine in ("mean", "last")
    ],
}
"""Settings to test each kind with, beside its `keep` where it has one; the defaults where nothing is said."""
ALL = [(kind, case) for kind in KINDS for case in CASES.get(kind, [{}])]
every_case = pytest.mark.parametrize(("kind", "case"), ALL)
every_keeping_case = pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, case in ALL if kind in KEEPING])
LINEAR = [(kind, case) for kind, case in ALL if case.get("combine") != "max"]
NAMES = ("positions", "sentences", "words", "ids", "origin")


def build(kind: str, keep: Keep, case: dict[str, object]) -> Pooler:
    settings = {**case, "keep": keep} if kind in KEEPING else case
    config = config_class(FAMILY, kind).model_validate(settings)
    assert isinstance(config, PoolerConfig)
    return config.build(nn.Embedding(50, 16)).double().eval()


def behind(pooled: Pooled, length: int) -> Tensor:
    """The mixture as a matrix (batch, keep, length)."""
    mixture = pooled.mixture()
    zeros = mixture.weights.new_zeros(*mixture.mask.shape, length)
    return zeros.scatter_add(2, mixture.members, mixture.weights)


def assert_equal(left: Tokens, right: Tokens) -> None:
    """Every document is the same, to rounding, whatever stands behind its end."""
    assert torch.equal(left.mask.sum(1), right.mask.sum(1))
    torch.testing.assert_close(left.states[left.mask], right.states[right.mask], atol=1e-12, rtol=0)
    for name in NAMES:
        assert torch.equal(getattr(left, name)[left.mask], getattr(right, name)[right.mask]), name


def test_the_family_is_found() -> None:
    assert {"funnel", "halving", "hard", "iterative"} <= set(KINDS)
    assert set(CASES) <= set(KINDS)


@every_case
@pytest.mark.parametrize("length", [1, 37, 64, 1000])
def test_any_length(kind: str, case: dict[str, object], length: int, make_tokens: Callable[..., Tokens]) -> None:
    pooled = build(kind, 24, case)(make_tokens(length)).tokens
    assert pooled.mask.all()
    assert pooled.states.isfinite().all()
    assert (pooled.origin.diff() > 0).all()
    assert torch.equal(pooled.positions, pooled.origin)
    assert torch.equal(pooled.sentences, pooled.origin // 5)
    assert torch.equal(pooled.words, pooled.origin // 2)
    assert torch.equal(pooled.ids, pooled.origin % 50)


@every_keeping_case
@pytest.mark.parametrize("length", [1, 37, 64, 1000])
@pytest.mark.parametrize("keep", [1, 5, 32, 999, 0.25])
def test_any_keep(
    kind: str, case: dict[str, object], length: int, keep: Keep, make_tokens: Callable[..., Tokens]
) -> None:
    pooled = build(kind, keep, case)(make_tokens(length)).tokens
    assert pooled.states.shape == (1, min(length, keep) if isinstance(keep, int) else -(-length // 4), 16)
    assert pooled.mask.all()
    assert pooled.states.isfinite().all()
    assert (pooled.origin.diff() > 0).all()


@every_case
@pytest.mark.parametrize("keep", [1, 24, 400, 0.25])
def test_mixture_says_who_stands_behind_every_vector(
    kind: str, case: dict[str, object], keep: Keep, make_tokens: Callable[..., Tokens]
) -> None:
    tokens = make_tokens(1, 37, 0, 320, 24)
    pooled = build(kind, keep, case)(tokens)
    mixture, left = pooled.mixture(), pooled.tokens
    assert torch.equal(mixture.mask, left.mask)
    assert (mixture.weights >= 0).all()
    torch.testing.assert_close(mixture.weights.sum(2), left.mask.double(), atol=1e-12, rtol=0)
    assert not mixture.weights[~left.mask].any()
    matrix = behind(pooled, 320)
    assert not matrix.masked_select(~tokens.mask[:, None]).any()
    if (kind, case) in LINEAR:
        assert (matrix.gather(2, left.origin[..., None])[left.mask] > 0).all()
        combined = mixture.combine(tokens.states)
        torch.testing.assert_close(combined[left.mask], left.states[left.mask], atol=1e-12, rtol=0)


@every_case
def test_order_of_the_documents_changes_nothing(
    kind: str, case: dict[str, object], make_tokens: Callable[..., Tokens]
) -> None:
    def reorder(tokens: Tokens) -> Tokens:
        fields = ("states", "mask", *NAMES)
        return replace(tokens, **{name: getattr(tokens, name)[[2, 0, 3, 1]] for name in fields})

    pooler = build(kind, 24, case)
    tokens = make_tokens(100, 0, 37, 24)
    assert_equal(pooler(reorder(tokens)).tokens, reorder(pooler(tokens).tokens))


@every_keeping_case
def test_short_documents_pass_unchanged(kind: str, case: dict[str, object], make_tokens: Callable[..., Tokens]) -> None:
    pooler = build(kind, 20, case)
    short = make_tokens(20, 11)
    pooled = pooler(short).tokens
    assert torch.equal(pooled.states[short.mask], short.states[short.mask])
    beside_long = pooler(make_tokens(20, 11, 200)).tokens
    assert beside_long.mask.sum(1).tolist() == [20, 11, 20]
    assert torch.equal(beside_long.states[:2][short.mask], short.states[short.mask])


@every_case
@pytest.mark.parametrize("keep", [24, 0.25])
@pytest.mark.parametrize("lengths", [(37, 64), (1000, 130, 61), (8, 500)])
def test_padding_and_batch_mates_change_nothing(
    kind: str,
    case: dict[str, object],
    keep: Keep,
    lengths: tuple[int, ...],
    make_tokens: Callable[..., Tokens],
    alone: Callable[[Tokens, int], Tokens],
) -> None:
    pooler = build(kind, keep, case)
    together = pooler(make_tokens(*lengths)).tokens
    longer = pooler(make_tokens(*lengths, length=1111)).tokens
    assert_equal(together, longer)
    for number in range(len(lengths)):
        single = pooler(alone(make_tokens(*lengths), number)).tokens
        assert single.mask.all()
        assert_equal(alone(together, number), single)


@every_case
def test_what_stands_in_the_padding_changes_no_bit(
    kind: str, case: dict[str, object], make_tokens: Callable[..., Tokens]
) -> None:
    pooler = build(kind, 24, case)
    clean = pooler(make_tokens(37, 80)).tokens
    hostile = pooler(make_tokens(37, 80, pad=torch.nan)).tokens
    assert torch.equal(clean.states, hostile.states)
    assert torch.equal(clean.origin[clean.mask], hostile.origin[hostile.mask])


@every_case
def test_every_parameter_gets_a_finite_gradient(
    kind: str, case: dict[str, object], make_tokens: Callable[..., Tokens]
) -> None:
    pooler = build(kind, 10, case).train()
    tokens = make_tokens(100, 13, 4, pad=torch.nan)
    states = tokens.states.detach().requires_grad_()
    pooled = pooler(tokens.with_states(states)).tokens
    torch.stack([pooled.states[pooled.mask].square().sum(), *pooled.losses.values()]).sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert states.grad[tokens.mask].any()
    assert not states.grad[~tokens.mask].any()
    for name, parameter in pooler.named_parameters():
        if case.get("gradient") == "none":
            assert parameter.grad is None, name
            continue
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


@every_case
def test_a_document_without_tokens_stays_empty(
    kind: str, case: dict[str, object], make_tokens: Callable[..., Tokens]
) -> None:
    pooled = build(kind, 10, case)(make_tokens(50, 0, pad=torch.nan)).tokens
    assert pooled.mask[1].sum() == 0
    assert pooled.states.isfinite().all()


@every_case
def test_a_teachers_phrases_travel_along(
    kind: str, case: dict[str, object], make_tokens: Callable[..., Tokens]
) -> None:
    tokens = make_tokens(50, 37)
    taught = build(kind, 10, case)(replace(tokens, phrases=tokens.positions // 3)).tokens
    assert taught.phrases is not None
    assert torch.equal(taught.phrases[taught.mask], taught.origin[taught.mask] // 3)
