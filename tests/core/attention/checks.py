"""Checks that the tests of several attentions share; all have four heads of four features."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import Attention, SoftmaxAttention
from sumpool.core.nn.masking import zero_padding
from sumpool.core.tokens import Tokens


def project(attention: Attention, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of one document (length, dim), (heads, length, head_dim) each."""
    layer = attention.get_submodule("project")
    assert isinstance(layer, nn.Linear)
    query, key, value = layer(states).view(len(states), 3, 4, 4).permute(1, 2, 0, 3)
    return query, key, value


def mix(attention: Attention, weights: Tensor, value: Tensor) -> Tensor:
    """Output of one document, given weights (heads, length, length) of values (heads, length, head_dim)."""
    output: Tensor = attention.out((weights @ value).transpose(0, 1).flatten(1))
    return output


def attend(attention: Attention, tokens: Tokens) -> Tensor:
    """Attend, with outputs and gradients that are finite, also where a document has no tokens."""
    states = zero_padding(tokens.states, tokens.mask).requires_grad_()
    attention(tokens.with_states(states))[tokens.mask].square().sum().backward()
    gradients = [states.grad, *(parameter.grad for parameter in attention.parameters())]
    mixed: Tensor = attention(tokens).detach()
    assert all(part is None or part.isfinite().all() for part in (mixed, *gradients))
    return mixed


def assert_equals_naive(attention: Attention, tokens: Tokens, naive: Callable[[Tensor], Tensor]) -> None:
    """Assert that the output is that of a naive version, whatever the padding.

    Args:
        naive: Function of one document (length, dim), whose output it returns.
    """
    mixed = attend(attention, tokens)
    for number, real in enumerate(tokens.mask.sum(1).tolist()):
        if real:
            expected = naive(tokens.states[number, :real])
            torch.testing.assert_close(mixed[number, :real], expected, atol=1e-10, rtol=0)


def assert_equals_masked(attention: Attention, tokens: Tokens, visible: Callable[[int], Tensor]) -> None:
    """Assert that an attention is the softmax over the visible keys alone, with any positions in the source.

    So are the weights that each token receives, where the attention returns them.

    Args:
        visible: Function of the length of a document, whose visible pairs ([heads,] queries, keys) it returns.
    """
    source = torch.randint(0, 5000, tokens.mask.shape).sort(1).values
    tokens = replace(tokens, positions=source)
    mixed, received = attend(attention, tokens), []
    if isinstance(attention, SoftmaxAttention):
        received = [attention.attention_received(tokens, include_self) for include_self in (True, False)]
    assert all(part.isfinite().all() for part in received)
    for number, real in enumerate(tokens.mask.sum(1).tolist()):
        if not real:
            continue
        query, key, value = project(attention, tokens.states[number, :real])
        positions = source[number : number + 1, :real]
        query, key = (attention.positions.rotate(part[None], positions)[0] for part in (query, key))
        bias = attention.positions.bias(positions)
        scores = query @ key.mT / 2 + (0.0 if bias is None else bias[0])
        weights = scores.masked_fill(~visible(real), -torch.inf).softmax(2)
        torch.testing.assert_close(mixed[number, :real], mix(attention, weights, value), atol=1e-10, rtol=0)
        others = weights - weights.diagonal(0, 1, 2).diag_embed()
        for part, counted in zip(received, (weights, others), strict=bool(received)):
            torch.testing.assert_close(part[number, :real], counted.mean(0).sum(0), atol=1e-10, rtol=0)
            assert not part[number, real:].any()
