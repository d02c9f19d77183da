"""Length predictor: the summary's length, predicted from the document and fed to the decoder at every position.

Beam search prefers summaries that are too short, and a search that must not stop continues after the content ends. The
decoder is therefore conditioned on the number of remaining tokens and ends in time (after the length-difference
encoding of Takase and Okazaki, 2019, arXiv:1904.07418, where lengths are given, not predicted).

During training the decoder is conditioned on the reference length times log-normal noise: with exact lengths it would
count tokens instead of ending at a sentence boundary. Everywhere else, validation included, the predicted length is
used.
"""

from typing import final

import torch
from torch import Tensor, nn

from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.positions import sinusoid
from sumpool.core.tokens import Tokens

_INITIAL_LOG_LENGTH = 4.0
"""Logarithm of the length that an untrained model predicts: 55 tokens."""
_MAX_LOG_LENGTH = 20.0
_NOISE_STD = 0.1
"""Standard deviation of the logarithm of the factor on a reference length during training."""


@final
class LengthPredictor(nn.Module):
    """Predicts summary lengths in tokens, EOS included, and embeds the number of remaining tokens."""

    def __init__(self, dim: int, pad: int) -> None:
        super().__init__()
        self.pad = pad
        self.hidden = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 1)
        self.remaining = nn.Linear(dim, dim)
        nn.init.constant_(self.out.bias, _INITIAL_LOG_LENGTH)

    def forward(self, memory: Tokens) -> Tensor:
        """Predict the logarithm of each summary's length (batch,) from the mean memory vector."""
        real = memory.mask.sum(1, keepdim=True).clamp_min(1)
        mean = zero_padding(at_least_float32(memory.states), memory.mask).sum(1) / real  # (batch, dim)
        log_lengths: Tensor = self.out(self.hidden(mean.to(memory.states.dtype)).relu())
        return at_least_float32(log_lengths.squeeze(1)).clamp(0.0, _MAX_LOG_LENGTH)

    def loss(self, log_lengths: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error of predicted log-lengths (batch,) against references (batch, target).

        The minimum is the median length of summaries of such documents.
        """
        return (log_lengths - self._lengths(target).log()).abs().mean()

    def jitter(self, target: Tensor) -> Tensor:
        """Return reference lengths (batch,) of target (batch, target) times log-normal noise, for training."""
        lengths = self._lengths(target)
        return lengths * (_NOISE_STD * torch.randn_like(lengths)).exp()

    def embed_remaining(self, lengths: Tensor, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Embed the tokens that remain of lengths (batch,) at positions (batch, target): (batch, target, dim)."""
        remaining = (lengths[:, None] - positions).round().clamp_min(0)
        embedded: Tensor = self.remaining(sinusoid(remaining, self.remaining.in_features).to(dtype))
        return embedded

    def _lengths(self, target: Tensor) -> Tensor:
        """Tokens of references (batch, target), at least 1 each: (batch,)."""
        return (target != self.pad).sum(1).clamp_min(1).float()
