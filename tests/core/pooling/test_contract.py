"""What every pooler keeps, tested on every variant found in the folder."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from sumpool.core.pooling._base import Pooler, PoolerConfig
from sumpool.core.tokens import Tokens
from sumpool.variants import config_class, kinds

PACKAGE = "sumpool.core.pooling"
KINDS = [kind for kind in kinds(PACKAGE) if "keep" in config_class(PACKAGE, kind).model_fields]
"""Poolers that are told how many vectors to leave; what segments keep, tests/core/boundaries/test_contract.py says."""


def build(kind: str, keep: int) -> Pooler:
    config = config_class(PACKAGE, kind).model_validate({"keep": keep})
    assert isinstance(config, PoolerConfig)
    return config.build(nn.Embedding(50, 16)).double()


def test_the_family_is_found() -> None:
    assert "halving" in KINDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 37, 64, 1000])
@pytest.mark.parametrize("keep", [1, 5, 32, 999])
def test_any_length_and_any_keep(kind: str, length: int, keep: int, make_tokens: Callable[..., Tokens]) -> None:
    tokens = make_tokens(length)
    pooled = build(kind, keep)(tokens).tokens
    kept = min(length, keep)
    assert pooled.states.shape == (1, kept, 16)
    assert pooled.mask.all()
    assert pooled.states.isfinite().all()
    assert (pooled.origin.diff() > 0).all()
    assert torch.equal(pooled.sentences, pooled.origin // 5)
    assert torch.equal(pooled.positions, pooled.origin)


@pytest.mark.parametrize("kind", KINDS)
def test_short_documents_pass_unchanged(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    pooler = build(kind, 20)
    short = make_tokens(20, 11)
    pooled = pooler(short).tokens
    assert torch.equal(pooled.states[short.mask], short.states[short.mask])
    beside_long = pooler(make_tokens(20, 11, 200)).tokens
    assert beside_long.mask.sum(1).tolist() == [20, 11, 20]
    assert torch.equal(beside_long.states[:2][short.mask], short.states[short.mask])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(37, 64), (1000, 130, 61), (8, 500)])
def test_padding_and_batch_mates_change_nothing(
    kind: str, lengths: tuple[int, ...], make_tokens: Callable[..., Tokens], alone: Callable[[Tokens, int], Tokens]
) -> None:
    pooler = build(kind, 24)
    together = pooler(make_tokens(*lengths)).tokens
    for number in range(len(lengths)):
        single = pooler(alone(make_tokens(*lengths), number)).tokens
        kept = single.states.size(1)
        assert int(together.mask[number].sum()) == kept
        torch.testing.assert_close(together.states[number, :kept], single.states[0], atol=1e-12, rtol=0)
        for name in ("positions", "sentences", "origin"):
            assert torch.equal(getattr(together, name)[number, :kept], getattr(single, name)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_in_the_padding_changes_no_bit(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    pooler = build(kind, 24)
    clean = pooler(make_tokens(37, 80)).tokens
    hostile = pooler(make_tokens(37, 80, pad=torch.nan)).tokens
    assert torch.equal(clean.states, hostile.states)
    assert torch.equal(clean.origin[clean.mask], hostile.origin[hostile.mask])


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_gets_a_finite_gradient(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    pooler = build(kind, 10)
    pooled = pooler(make_tokens(100, 13, 4)).tokens
    pooled.states[pooled.mask].square().sum().backward()
    for name, parameter in pooler.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_without_tokens_stays_empty(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    pooled = build(kind, 10)(make_tokens(50, 0, pad=torch.nan)).tokens
    assert pooled.mask[1].sum() == 0
    assert pooled.states.isfinite().all()
