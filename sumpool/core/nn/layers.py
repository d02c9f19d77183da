"""Layers of encoder and decoder: dropout, feed-forward, residual, tied projection; heads split and merged.

With how layers are called and built: activation checkpointing, skipped initialisation, number of threads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

Activation = Literal["relu", "gelu", "silu"]
Norm = Literal["pre", "post"]
_LEVELS = 2**16
"""Probabilities that dropout on a CPU tells apart."""


def split_heads(states: Tensor, heads: int) -> Tensor:
    """Split features into heads: (batch, length, dim) -> (batch, heads, length, head_dim)."""
    batch, length, dim = states.shape
    return states.view(batch, length, heads, dim // heads).transpose(1, 2)


def merge_heads(states: Tensor) -> Tensor:
    """Concatenate heads: (batch, heads, length, head_dim) -> (batch, length, dim)."""
    return states.transpose(1, 2).flatten(2)


@final
class Dropout(nn.Module):
    """Zeroes elements with a probability and divides the others by that of keeping them.

    PyTorch draws a number of 32 bits for each element on a CPU, which takes a tenth of a training step in bf16. Here
    four elements share one of 64 bits, so that the probability is rounded to a multiple of 2^-16, and the scale with
    it: the expectation is exact. Other devices draw as PyTorch does.
    """

    def __init__(self, p: float) -> None:
        """Take the probability of zero, from 0 to 1."""
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"p must be from 0 to 1, got {p}")
        self.p = p

    def forward(self, states: Tensor) -> Tensor:
        """Drop elements in training."""
        dropped = round(self.p * _LEVELS)
        if not self.training or not dropped:
            return states
        if states.device.type != "cpu" or dropped == _LEVELS:
            return F.dropout(states, self.p)
        numbers = torch.empty(-(-states.numel() // 4), dtype=torch.long).random_(-(2**63), None)
        is_kept = numbers.view(torch.int16)[: states.numel()] >= dropped - _LEVELS // 2
        scale = torch.tensor(_LEVELS / (_LEVELS - dropped), dtype=states.dtype)
        return states * (is_kept * scale).view(states.shape)


@final
class FeedForward(nn.Module):
    """Position-wise feed-forward layer: two linear maps with a non-linearity between them, (batch, length, dim)."""

    def __init__(self, dim: int, width: int, activation: Activation) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, width)
        self.narrow = nn.Linear(width, dim)
        self.activation = _ACTIVATIONS[activation]

    def forward(self, states: Tensor) -> Tensor:
        """Apply both maps to each state separately."""
        output: Tensor = self.narrow(self.activation(self.widen(states)))
        return output


def _relu(widened: Tensor) -> Tensor:
    """ReLU, in place where no gradient is recorded; autograd would copy first, because `widened` is a view."""
    return F.relu(widened, inplace=not torch.is_grad_enabled())


_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": _relu, "gelu": F.gelu, "silu": F.silu}


@final
class Residual(nn.Module):
    """Residual connection around a sub-layer, with layer normalisation before it (pre) or after the sum (post)."""

    def __init__(self, dim: int, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.dropout = Dropout(dropout)
        self.pre = norm == "pre"

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `sublayer` to states (..., dim) and add the result."""
        return self.add(states, sublayer(self.prepare(states)))

    def prepare(self, states: Tensor) -> Tensor:
        """Return the input of the sub-layer: normalised states with pre-norm, else the states."""
        prepared: Tensor = self.norm(states) if self.pre else states
        return prepared

    def add(self, states: Tensor, output: Tensor) -> Tensor:
        """Add the output of the sub-layer, with dropout in training; normalise the sum with post-norm."""
        summed: Tensor = states + (self.dropout(output) if self.training else output)  # saves a call at every step
        return summed if self.pre else self.norm(summed)


@final
class TiedProjection(nn.Module):
    """Linear map whose weights are an embedding matrix: (..., dim) -> (..., vocab)."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding

    def forward(self, states: Tensor) -> Tensor:
        """Return the dot product of each state with each embedding."""
        return F.linear(states, self.embedding.weight)


OutputT = TypeVar("OutputT")


def run_layer(layer: Callable[..., OutputT], *inputs: object, checkpointed: bool) -> OutputT:
    """Call a layer, with activation checkpointing if asked for (Chen et al., 2016).

    Args:
        layer: Any module; its dropout is replayed on the way back.
        inputs: Arguments of the layer.
        checkpointed: Whether to store only the inputs for the backward pass and compute the activations twice. Ignored
            where no gradient is recorded.

    Returns:
        The output of the layer, with the same gradients either way.
    """
    if not checkpointed or not torch.is_grad_enabled():
        return layer(*inputs)
    output: OutputT = checkpoint(layer, *inputs, use_reentrant=False)
    return output


@final
class SkipInit(TorchFunctionMode):
    """Context in which modules are built with uninitialised weights, for models whose weights are loaded afterwards.

    Random numbers take 0.2 seconds for 8 million weights, and on the meta device, which has no memory to fill, PyTorch
    would import its compiler for them.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the function returns
        """Return the tensor unchanged where a function of `torch.nn.init` would fill it."""
        if getattr(func, "__module__", "") == nn.init.__name__ or func in (Tensor.normal_, Tensor.uniform_):
            return (*args, *(kwargs or {}).values())[0]
        return func(*args, **(kwargs or {}))


@contextmanager
def one_thread(enabled: bool = True) -> Iterator[None]:
    """Restrict PyTorch to one intra-op thread within the context.

    Threads that share an operation wait for the slowest of them. Loading a model and stepping a small one are hundreds
    of operations of some microseconds each: on idle cores more threads gain little, and where another program occupies
    one of two cores, more threads are two to fifteen times slower.

    Args:
        enabled: False leaves the number of threads as it is.
    """
    before = torch.get_num_threads()
    if enabled:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
