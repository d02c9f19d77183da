"""Contract of poolers, tested on every variant in the package."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from torch import nn

from sumpool.core.pooling._base import Keep, Pooler, PoolerConfig
from sumpool.settings import config_class, kinds
from tests.core.batches import make_tokens
from tests.core.test_families import SETTINGS

FAMILY = "sumpool.core.pooling"
KINDS = kinds(FAMILY)
WITH_KEEP = [kind for kind in KINDS if "keep" in config_class(FAMILY, kind).model_fields]
ALL = [
    (kind, case)
    for kind in KINDS
    for case in [{}, *SETTINGS.get(f"pooling/{kind}", [])]
    if case.get("boundaries", {}).get("kind") not in ("gumbel", "unigram", "entropy", "random", "none")
]
"""Kinds and their settings beside `keep`, without boundaries that depend on states or draws."""
every_case = pytest.mark.parametrize(("kind", "case"), ALL)
LINEAR = [(kind, case) for kind, case in ALL if case.get("combine") != "max" and kind != "distilling"]


def build(kind: str, keep: Keep, case: dict[str, Any]) -> Pooler:
    settings = {**case, "keep": keep} if kind in WITH_KEEP else case
    config = config_class(FAMILY, kind).model_validate(settings)
    assert isinstance(config, PoolerConfig)
    return config.build(nn.Embedding(50, 16)).double().eval()


def keeps_of(kind: str, *keeps: Keep) -> tuple[Keep, ...]:
    """Those values of `keep`; the first alone where a kind has no such setting."""
    return keeps if kind in WITH_KEEP else keeps[:1]


@every_case
def test_any_length_and_keep(kind: str, case: dict[str, Any]) -> None:
    for length, keep in product((1, 37, 64, 1000), keeps_of(kind, 24, 1, 5, 999, 0.25)):
        tokens = make_tokens(length).with_lengths([length])
        tokens = replace(tokens, phrases=tokens.positions // 3, attention_received=lambda _: pytest.fail("not those"))
        pooled = build(kind, keep, case)(tokens).tokens
        if kind in WITH_KEEP:
            expected = min(length, keep) if isinstance(keep, int) else -(-length // 4)
            assert pooled.states.shape == (1, expected, 16), (length, keep)
        assert pooled.mask.all()
        assert pooled.full
        assert pooled.states.isfinite().all()
        assert (pooled.positions.diff() > 0).all(), (length, keep)
        assert torch.equal(pooled.sentences, pooled.positions // 5)
        assert torch.equal(pooled.words, pooled.positions // 2)
        assert torch.equal(pooled.ids, pooled.positions % 50)
        assert pooled.phrases is not None
        assert torch.equal(pooled.phrases, pooled.positions // 3)
        assert pooled.attention_received is None, "of other states"


@every_case
def test_mixture_reproduces_the_pooled_vectors(kind: str, case: dict[str, Any]) -> None:
    lengths = (1, 37, 0, 320, 24)
    tokens = make_tokens(*lengths).with_lengths(lengths)
    for keep in keeps_of(kind, 1, 24, 400, 0.25):
        pooled = build(kind, keep, case)(tokens)
        mixture, output = pooled.mixture(), pooled.tokens
        assert output.lengths is not None
        assert list(output.lengths) == output.mask.sum(1).tolist()
        assert not output.full
        assert torch.equal(mixture.mask, output.mask)
        assert (mixture.weights >= 0).all()
        torch.testing.assert_close(mixture.weights.sum(2), output.mask.double(), atol=1e-12, rtol=0)
        assert not mixture.weights[~output.mask].any()
        matrix = mixture.matrix(320)
        assert not matrix.masked_select(~tokens.mask[:, None]).any()
        combined = mixture.combine(tokens.states)
        torch.testing.assert_close(combined, matrix @ tokens.states, atol=1e-12, rtol=0)
        if (kind, case) in LINEAR:
            assert (matrix.gather(2, output.positions[..., None])[output.mask] > 0).all()
            torch.testing.assert_close(combined[output.mask], output.states[output.mask], atol=1e-12, rtol=0)


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, case in ALL if kind in WITH_KEEP])
def test_short_documents_pass_unchanged(kind: str, case: dict[str, Any]) -> None:
    pooler = build(kind, 20, case)
    short = make_tokens(20, 11)
    pooled = pooler(short).tokens
    assert torch.equal(pooled.states[short.mask], short.states[short.mask])
    beside_long = pooler(make_tokens(20, 11, 200)).tokens
    assert beside_long.mask.sum(1).tolist() == [20, 11, 20]
    assert torch.equal(beside_long.states[:2][short.mask], short.states[short.mask])


@every_case
def test_half_precision_pools_finite_vectors_with_finite_gradients(
    kind: str, case: dict[str, Any], half_precision: torch.dtype
) -> None:
    pooler = build(kind, 10, case).train().to(half_precision)
    tokens = make_tokens(40, 13, 0, dtype=half_precision)
    states = tokens.states.detach().requires_grad_()
    pooled = pooler(tokens.with_states(states))
    output = pooled.tokens
    assert output.states.isfinite().all()
    assert (output.mask.sum(1)[:2] > 0).all()
    mixture = pooled.mixture()
    torch.testing.assert_close(mixture.weights.float().sum(2), output.mask.float(), atol=0.02, rtol=0)
    if (kind, case) in LINEAR:
        combined = mixture.combine(tokens.states)
        torch.testing.assert_close(combined.float(), output.states.float(), atol=0.05, rtol=0)
    assert mixture.upsample(output.states, 40).isfinite().all()
    torch.stack([output.states[output.mask].square().sum(), *output.losses.values()]).sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in pooler.parameters() if parameter.grad is not None)
