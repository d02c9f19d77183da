"""Documents of random states, with padding and batch mates."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sumpool.core.tokens import Tokens

DIM = 16
NEEDS_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
DEVICES = ["cpu", pytest.param("cuda", marks=NEEDS_GPU)]
"""Devices that a test runs on, a GPU where there is one."""


def mask_of(*lengths: int, length: int = 0) -> Tensor:
    """Mask of documents of the given real lengths, padded to the longest or to `length`."""
    return torch.arange(max(length, *lengths)) < torch.tensor(lengths)[:, None]


def make_tokens(*lengths: int, length: int = 0, pad: float = 0.0, dtype: torch.dtype = torch.float64) -> Tokens:
    """Make documents of the given real lengths, padded to the longest or to `length`, with `pad` in the padding."""
    generator = torch.Generator().manual_seed(7)
    mask = mask_of(*lengths, length=length)
    states = torch.full((*mask.shape, DIM), pad, dtype=dtype)
    for row, real in enumerate(lengths):
        states[row, :real] = torch.randn(real, DIM, generator=generator, dtype=dtype)
    positions = torch.arange(mask.size(1))
    indices = (positions // 5, positions // 2, positions % 50)
    sentences, words, ids = (values.expand(mask.shape) for values in indices)
    return Tokens.from_source(states, mask, sentences, words, ids)


def in_sentences(tokens: Tokens) -> Tokens:
    """The same tokens in sentences of 1, 2, 3 ... tokens, numbered with gaps."""
    positions = torch.arange(tokens.mask.size(1))
    return replace(tokens, sentences=((2 * positions).sqrt().long() * 3).expand(tokens.mask.shape))


def alone(tokens: Tokens, number: int) -> Tokens:
    """Take one document out of its batch, without padding."""
    real = int(tokens.mask[number].sum())

    def cut(value: Tensor) -> Tensor:
        return value[number : number + 1, :real]

    return replace(tokens.map_origins(cut), states=cut(tokens.states), mask=cut(tokens.mask), lengths=None, full=False)
