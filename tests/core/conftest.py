"""Documents of random states, with padding and batch mates."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from sumpool.core.tokens import Tokens

DIM = 16


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Seed random inputs."""
    torch.manual_seed(0)


@pytest.fixture
def make_tokens() -> Callable[..., Tokens]:
    """Make documents of the given real lengths, padded to the longest or to `length`, with `pad` in the padding."""

    def make(*lengths: int, length: int = 0, pad: float = 0.0, dtype: torch.dtype = torch.float64) -> Tokens:
        generator = torch.Generator().manual_seed(7)
        length = max(length, *lengths)
        states = torch.full((len(lengths), length, DIM), pad, dtype=dtype)
        for row, real in enumerate(lengths):
            states[row, :real] = torch.randn(real, DIM, generator=generator, dtype=dtype)
        mask = torch.arange(length)[None] < torch.tensor(lengths)[:, None]
        positions = torch.arange(length)
        indices = (positions // 5, positions // 2, positions % 50)
        sentences, words, ids = (values.expand(mask.shape) for values in indices)
        return Tokens.from_source(states, mask, sentences, words, ids)

    return make


def row(tokens: Tokens, number: int) -> Tokens:
    """Return one document without padding."""
    real = int(tokens.mask[number].sum())

    def cut(value: Tensor) -> Tensor:
        return value[number : number + 1, :real]

    return Tokens(
        states=cut(tokens.states),
        mask=cut(tokens.mask),
        positions=cut(tokens.positions),
        sentences=cut(tokens.sentences),
        words=cut(tokens.words),
        ids=cut(tokens.ids),
        origin=cut(tokens.origin),
    )


@pytest.fixture
def alone() -> Callable[[Tokens, int], Tokens]:
    """Function that takes one document out of its batch."""
    return row


@pytest.fixture(params=["bf16", "autocast"])
def half_precision(request: pytest.FixtureRequest) -> Iterator[torch.dtype]:
    """Data type of weights and states for a test in half precision, under autocast if it is float32.

    Products of float64 stay exact under autocast. Without instructions for bf16, torch emulates it.
    """
    is_autocast = request.param == "autocast"
    with torch.autocast("cpu", torch.bfloat16, enabled=is_autocast):
        yield torch.float32 if is_autocast else torch.bfloat16
