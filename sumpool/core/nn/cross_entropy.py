"""Cross-entropy over a whole vocabulary, without ever holding a distribution for every token.

The loss is a sum that ends the graph, so a few rows of logits at a time give their share of it and, while they are at
hand, their share of its gradient; on the way back a single factor is left to multiply with. What is held is one chunk
of logits beside gradients that are wanted anyway, and the vocabulary's matrix is multiplied no more often than in the
plain form. Making the logits once more on the way back, which would give every token a gradient of its own, took 1.2
times as long.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32

_AT_ONCE = 2**24
"""Logits that are held at a time, over tokens and vocabulary: 64 MB in float32."""


def cross_entropy(
    states: Tensor,
    matrix: Tensor,
    bias: Tensor | None,
    target: Tensor,
    ignore_index: int,
    smoothing: float = 0.0,
    otherwise: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Take the surprise at a reference, which is a mixture of the true token and the uniform distribution.

    The cost follows the real tokens of the reference; on a GPU padding is worked on too, since to count it the host
    would have to wait.

    Args:
        states: (batch, target, dim), finite everywhere.
        matrix: (vocab, dim); under autocast it is rounded once, and its gradient is summed in its own precision.
        bias: (vocab,), added to the logits, without a gradient; -inf takes a piece out. None for nothing.
        target: (batch, target), the reference, with padding anywhere.
        ignore_index: Id of padding.
        smoothing: Weight of the uniform distribution over all pieces that are not taken out, in [0, 1).
        otherwise: (batch, target), log of what is added to the probability of the true token. None for nothing.

    Returns:
        The cross-entropy summed over real tokens, a scalar in nats; and the log-probability of each, without a
        gradient, (batch, target), 0 at padding. Both in at least single precision.
    """
    flat, device = target.flatten(), states.device.type
    added = None if otherwise is None else otherwise.flatten()
    work = _Work(
        target=flat,
        ignore_index=ignore_index,
        places=(flat != ignore_index).nonzero().squeeze(1)
        if device == "cpu"
        else torch.arange(len(flat), device=flat.device),
        bias=bias,
        smoothing=smoothing,
        precision=torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype,
        learns=(_learns(states), _learns(matrix), _learns(otherwise)),
    )
    with torch.autocast(device, enabled=False):  # would round the sums
        nll, log_prob = _CrossEntropy.apply(states.flatten(0, 1), matrix, added, work)  # type: ignore[no-untyped-call]
    return nll, log_prob.view(target.shape)


@dataclass(frozen=True)
class _Work:
    """What has no gradient.

    Attributes:
        target: (tokens,), the reference.
        ignore_index: Id of padding.
        places: (rows,), the tokens that are worked on, all real ones among them.
        bias: (vocab,) or None.
        smoothing: Weight of the uniform distribution.
        precision: What products are made in.
        learns: Whether a gradient is wanted of states, of the matrix, and of what is added.
    """

    target: Tensor
    ignore_index: int
    places: Tensor
    bias: Tensor | None
    smoothing: float
    precision: torch.dtype
    learns: tuple[bool, bool, bool]

    def chunks(self, vocabulary: int) -> tuple[Tensor, ...]:
        """Give the places a few at a time, in sixty-fours, since products like round numbers."""
        parts: tuple[Tensor, ...] = self.places.split(max(1, _AT_ONCE // vocabulary // 64) * 64)
        return parts


class _CrossEntropy(torch.autograd.Function):
    """States (tokens, dim), matrix (vocab, dim) and otherwise (tokens,) -> a scalar and (tokens,)."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, states: Tensor, matrix: Tensor, otherwise: Tensor | None, work: _Work
    ) -> tuple[Tensor, Tensor]:
        """Make the loss, and its gradients where there will be a way back."""
        sums = _Sums(states, matrix, otherwise, work)
        for places in work.chunks(len(matrix)):
            sums.add(places)
        if work.smoothing:
            sums.smooth()
        ctx.save_for_backward(*sums.gradients())  # type: ignore[arg-type] # None is as good
        ctx.mark_non_differentiable(sums.log_prob)
        return sums.nll, sums.log_prob

    @staticmethod
    def backward(ctx: BackwardCFunction, factor: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Multiply, in place: autograd refuses to go back another time through what has been changed."""
        return *(None if gradient is None else gradient.mul_(factor) for gradient in ctx.saved_tensors), None


class _Sums:
    """The loss and its gradients, which grow from chunk to chunk."""

    def __init__(self, states: Tensor, matrix: Tensor, otherwise: Tensor | None, work: _Work) -> None:
        self.states, self.matrix, self.otherwise, self.work = states, matrix, otherwise, work
        self.rounded = matrix.to(work.precision)
        self.bias = None if work.bias is None else work.bias.to(work.precision)
        self.exact = torch.promote_types(work.precision, torch.float32)
        self.log_prob = states.new_zeros(len(states), dtype=self.exact)
        self.nll = self.log_prob.new_zeros(())
        self.of_states = torch.zeros_like(states) if work.learns[0] else None
        self.of_matrix = torch.zeros_like(matrix, dtype=self.exact) if work.learns[1] else None
        self.of_otherwise = torch.zeros_like(otherwise) if otherwise is not None and work.learns[2] else None

    def gradients(self) -> tuple[Tensor | None, ...]:
        """Give what has been gathered, in the precision of what it belongs to."""
        of_matrix = None if self.of_matrix is None else self.of_matrix.to(self.matrix.dtype)
        return self.of_states, of_matrix, self.of_otherwise

    def add(self, places: Tensor) -> None:
        """Add what some tokens (rows,) contribute, but for the logits' mean in a smoothed reference."""
        true = self.work.target.index_select(0, places)
        padding = true == self.work.ignore_index
        some = self.states.index_select(0, places).to(self.work.precision)  # (rows, dim)
        logits = at_least_float32(F.linear(some, self.rounded, self.bias))  # (rows, vocab)
        of_true = logits.gather(1, true[:, None]).squeeze(1).masked_fill(padding, 0.0)
        largest = logits.amax(1)
        odds = logits.sub_(largest[:, None]).exp_()
        mass = odds.sum(1)
        partition = largest + mass.log()
        log_prob = written = of_true - partition
        if self.otherwise is not None:
            log_prob = torch.logaddexp(written, self.otherwise.index_select(0, places))
        self.log_prob.index_copy_(0, places, log_prob.masked_fill(padding, 0.0))
        real = (~padding).to(self.exact)
        sharp, smooth = (1 - self.work.smoothing) * real, self.work.smoothing * real
        self.nll += (smooth * partition - sharp * log_prob).sum()
        share = sharp * (written - log_prob).exp()  # what writing has in the probability of the true token
        if self.of_otherwise is not None:
            self.of_otherwise.index_copy_(0, places, (share - sharp).to(self.of_otherwise.dtype))
        if self.of_states is not None or self.of_matrix is not None:
            odds.mul_(((share + smooth) / mass)[:, None])
            self._spread(places, some, odds.scatter_add_(1, true[:, None], -share[:, None]))

    def smooth(self) -> None:
        """Add the logits' mean over the vocabulary, which is a product with the mean of the matrix's rows."""
        bias, places, weight = self.work.bias, self.work.places, self.work.smoothing
        possible = self.rounded.new_ones(len(self.matrix), dtype=self.exact)
        if bias is not None:
            possible = (bias > -torch.inf).to(self.exact)
        share = possible / possible.sum()
        middle = share @ self.matrix.to(self.exact)  # (dim,)
        real = (self.work.target.index_select(0, places) != self.work.ignore_index).to(self.exact)
        summed = real @ self.states.index_select(0, places).to(self.exact)  # (dim,)
        self.nll -= weight * (summed @ middle)
        if bias is not None:
            self.nll -= weight * real.sum() * (share @ bias.masked_fill(possible == 0, 0.0).to(self.exact))
        if self.of_states is not None:
            of_each = (-weight * real)[:, None] * middle
            self.of_states.index_add_(0, places, of_each.to(self.of_states.dtype))
        if self.of_matrix is not None:
            self.of_matrix.addr_(share, summed, alpha=-weight)

    def _spread(self, places: Tensor, some: Tensor, of_logits: Tensor) -> None:
        """Hand the gradient of some tokens' logits (rows, vocab) on to states and matrix."""
        of_logits = of_logits.to(self.work.precision)
        if self.of_states is not None:
            self.of_states.index_copy_(0, places, (of_logits @ self.rounded).to(self.of_states.dtype))
        if self.of_matrix is None:
            return
        if of_logits.dtype == self.exact:
            self.of_matrix.addmm_(of_logits.T, some)
        else:
            self.of_matrix += of_logits.T @ some


def _learns(part: Tensor | None) -> bool:
    return part is not None and part.requires_grad and torch.is_grad_enabled()
