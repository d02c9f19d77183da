"""What every selection keeps, tested on every variant found in the folder."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from sumpool.core.nn.sentences import Sentences
from sumpool.core.tokens import Tokens
from sumpool.variants import kinds
from tests.core.selection.asking import DIM, HEADS, Asking, in_sentences

KINDS = kinds("sumpool.core.selection")
every_kind = pytest.mark.parametrize("kind", KINDS)
every_reading_kind = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "random"])


def test_the_family_is_found() -> None:
    assert {"ideal", "approximate", "random", "model_free"} <= set(KINDS)


@every_kind
@pytest.mark.parametrize("lengths", [(1, 37), (64, 300, 3, 0)])
def test_padding_and_batch_mates_change_nothing(
    kind: str, lengths: tuple[int, ...], make_tokens: Callable[..., Tokens], alone: Callable[[Tokens, int], Tokens]
) -> None:
    asking = Asking(kind).double().eval()
    together = in_sentences(make_tokens(*lengths))
    hostile = in_sentences(make_tokens(*lengths, length=max(lengths) + 50, pad=torch.nan))
    states = torch.randn(len(lengths), 6, DIM, dtype=torch.float64)
    for number in range(len(lengths)):
        single = alone(together, number)
        exists = Sentences.find(single).mask[0]
        expected = asking(states[number : number + 1], single)[0, ..., exists]
        for tokens in (together, hostile):
            exists = Sentences.find(tokens).mask[number]
            shares = asking(states, tokens)[number]
            torch.testing.assert_close(shares[..., exists], expected, atol=1e-12, rtol=0)
            assert (shares[..., ~exists] == -torch.inf).all()


@every_kind
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_shares_sum_to_one_over_the_sentences_that_there_are(
    kind: str, training: bool, scale: float, make_tokens: Callable[..., Tokens]
) -> None:
    tokens = in_sentences(make_tokens(64, 300, 1, 0))
    states = scale * torch.randn(4, 6, DIM, dtype=torch.float64)
    shares = Asking(kind).double().train(training)(states, tokens)
    exists = Sentences.find(tokens).mask
    assert shares.shape == (4, HEADS, 6, exists.size(1))
    assert not shares.isnan().any()
    assert torch.equal(shares > -torch.inf, exists[:, None, None].expand_as(shares))
    total = exists.any(1).double()[:, None, None].expand(shares.shape[:3])
    torch.testing.assert_close(shares.exp().sum(-1), total, atol=1e-12, rtol=0)


@every_kind
def test_nan_in_the_padding_changes_no_bit(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    asking = Asking(kind).eval()
    states = torch.randn(2, 6, DIM)
    quiet, hostile = (in_sentences(make_tokens(40, 7, pad=pad, dtype=torch.float32)) for pad in (0.0, torch.nan))
    assert torch.equal(asking(states, quiet), asking(states, hostile))


@every_kind
def test_a_query_does_not_see_its_neighbours(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    asking = Asking(kind).double().eval()
    tokens = in_sentences(make_tokens(40, 22))
    states = torch.randn(2, 6, DIM, dtype=torch.float64)
    shares = asking(states, tokens)
    for place in range(6):
        one = asking(states[:, place : place + 1], tokens)
        torch.testing.assert_close(shares[:, :, place : place + 1], one, atol=1e-12, rtol=0)


@every_reading_kind
def test_the_sentences_permuted_are_the_shares_permuted(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    asking = Asking(kind).double().eval()
    tokens = in_sentences(make_tokens(66))
    sentences = Sentences.find(tokens)
    order = torch.randperm(sentences.count.size(1))
    runs = [torch.arange(66)[sentences.number[0] == number] for number in order.tolist()]
    renumbered = torch.cat([torch.full((len(run),), number) for number, run in enumerate(runs)])
    permuted = replace(tokens, states=tokens.states[:, torch.cat(runs)], sentences=renumbered[None])
    states = torch.randn(1, 6, DIM, dtype=torch.float64)
    shares, expected = asking(states, permuted), asking(states, tokens)[..., order]
    torch.testing.assert_close(shares, expected, atol=1e-12, rtol=0)
    assert expected[0].std(-1).min() > 1e-4  # sentences are told apart, by every head


@every_kind
def test_every_parameter_gets_a_finite_gradient(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    asking = Asking(kind).double().train()
    tokens = in_sentences(make_tokens(40, 13, 0))
    shares = asking(torch.randn(3, 6, DIM, dtype=torch.float64), tokens)
    owned = [*asking.selection.named_parameters(), *(asking.encoder.named_parameters() if asking.encoder else ())]
    if owned or shares.requires_grad:
        shares.masked_fill(shares == -torch.inf, 0.0).square().sum().backward()
    for name, parameter in asking.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
    for name, parameter in owned:
        assert parameter.grad is not None, name


@every_kind
def test_half_precision_gives_shares(kind: str, make_tokens: Callable[..., Tokens]) -> None:
    tokens = in_sentences(make_tokens(40, 13, dtype=torch.float32))
    with torch.autocast("cpu", torch.bfloat16):
        shares = Asking(kind).eval()(torch.randn(2, 6, DIM), tokens)
    assert shares.dtype is torch.float32
    torch.testing.assert_close(shares.exp().sum(-1), torch.ones(2, HEADS, 6), atol=1e-6, rtol=0)
