"""Fused linear cross-entropy over the vocabulary, without materialising all logits.

The loss is a sum at the end of the graph. The forward pass therefore computes logits in chunks of tokens and, from the
same chunk, both the loss and its gradients; the backward pass only multiplies by one factor. Memory is one chunk of
logits in addition to the gradients, and the embedding matrix is multiplied no more often than without fusion.
Recomputing the logits in the backward pass, which would allow a gradient per token, took 1.2 times as long.
"""

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx
from torch.nn import functional as F

from sumpool.core.nn.numerics import at_least_float32

MAX_LOGITS = 2**24
"""Logits in memory at a time, over tokens and vocabulary: 64 MB in float32."""


def cross_entropy(
    states: Tensor,
    matrix: Tensor,
    bias: Tensor | None,
    target: Tensor,
    ignore_index: int,
    smoothing: float = 0.0,
    extra: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Cross-entropy with label smoothing, and optionally an additional probability of the true token.

    On a CPU, padding is skipped; on a GPU it is computed too, since skipping it would synchronise with the host.

    Args:
        states: (batch, target, dim), finite everywhere.
        matrix: (vocab, dim); rounded once under autocast, with a gradient in its own precision.
        bias: (vocab,), added to the logits, without a gradient; -inf removes a token. None for none.
        target: (batch, target), references, with padding anywhere.
        ignore_index: Id of padding.
        smoothing: Weight of the uniform distribution over all tokens that are not removed, in [0, 1).
        extra: (batch, target), logarithm of a probability added to that of the true token; None for none.

    Returns:
        The cross-entropy summed over real tokens, a scalar in nats; and the log-probability of each, without a
        gradient, (batch, target), 0 at padding. Both in at least single precision.
    """
    sums = _Sums(states, matrix, bias, target, ignore_index, smoothing, extra)
    with torch.autocast(states.device.type, enabled=False):  # would round the sums
        nll, log_prob = _CrossEntropy.apply(sums.states, matrix, sums.extra, sums)  # type: ignore[no-untyped-call]
    return nll, log_prob.view(target.shape)


class _CrossEntropy(torch.autograd.Function):
    """States (tokens, dim), matrix (vocab, dim), extra (tokens,) -> scalar loss and log-probabilities (tokens,)."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, states: Tensor, matrix: Tensor, extra: Tensor | None, sums: "_Sums"
    ) -> tuple[Tensor, Tensor]:
        """Compute the loss, and its gradients where they are needed."""
        del states, extra  # for autograd
        # Matrix products prefer multiples of 64.
        for rows in sums.rows.split(max(1, MAX_LOGITS // len(matrix) // 64) * 64):
            sums.add(rows)
        if sums.smoothing:
            sums.smooth()
        matrix_gradient = None if sums.matrix_gradient is None else sums.matrix_gradient.to(matrix.dtype)
        gradients = (sums.states_gradient, matrix_gradient, sums.extra_gradient)
        ctx.save_for_backward(*gradients)  # type: ignore[arg-type] # accepts None too
        ctx.mark_non_differentiable(sums.log_prob)
        return sums.nll, sums.log_prob

    @staticmethod
    def backward(ctx: BackwardCFunction, factor: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Multiply in place; autograd then refuses a second backward pass."""
        return *(None if gradient is None else gradient.mul_(factor) for gradient in ctx.saved_tensors), None


class _Sums:
    """Inputs, and the loss and its gradients, accumulated over chunks of tokens."""

    def __init__(
        self,
        states: Tensor,
        matrix: Tensor,
        bias: Tensor | None,
        target: Tensor,
        ignore_index: int,
        smoothing: float,
        extra: Tensor | None,
    ) -> None:
        device = states.device.type
        autocast = torch.is_autocast_enabled(device)
        self.precision = torch.get_autocast_dtype(device) if autocast else states.dtype  # of matrix products
        self.exact = torch.promote_types(self.precision, torch.float32)
        self.states, self.matrix, self.bias, self.smoothing = states.flatten(0, 1), matrix, bias, smoothing
        self.target, self.extra = target.flatten(), None if extra is None else extra.flatten()
        self.real = self.target != ignore_index
        every = torch.arange(len(self.target), device=target.device)
        self.rows = every[self.real] if device == "cpu" else every  # a GPU would synchronise
        self.rounded = matrix.detach().to(self.precision)
        self.rounded_bias = None if bias is None else bias.to(self.precision)
        self.log_prob = states.new_zeros(len(self.states), dtype=self.exact)
        self.nll = self.log_prob.new_zeros(())
        self.states_gradient, self.matrix_gradient, self.extra_gradient = (
            torch.zeros_like(part, dtype=dtype)
            if part is not None and part.requires_grad and torch.is_grad_enabled()
            else None
            for part, dtype in ((self.states, None), (matrix, self.exact), (self.extra, None))
        )

    def add(self, rows: Tensor) -> None:
        """Add loss and gradients of some tokens (rows,), without the mean logit of smoothed references."""
        target = self.target.index_select(0, rows)
        padding = ~self.real.index_select(0, rows)
        states = self.states.index_select(0, rows).to(self.precision)  # (rows, dim)
        logits = at_least_float32(F.linear(states, self.rounded, self.rounded_bias))  # (rows, vocab)
        target_logit = logits.gather(1, target[:, None]).squeeze(1).masked_fill(padding, 0.0)
        largest = logits.amax(1)
        exponentials = logits.sub_(largest[:, None]).exp_()
        exponential_sum = exponentials.sum(1)
        partition = largest + exponential_sum.log()
        log_prob = vocabulary_log_prob = target_logit - partition
        if self.extra is not None:
            log_prob = torch.logaddexp(vocabulary_log_prob, self.extra.index_select(0, rows))
        self.log_prob.index_copy_(0, rows, log_prob.masked_fill(padding, 0.0))
        real = (~padding).to(self.exact)
        sharp, smooth = (1 - self.smoothing) * real, self.smoothing * real
        self.nll += (smooth * partition - sharp * log_prob).sum()
        # Gradient to the vocabulary: its fraction of the probability of the true token.
        fraction = sharp * (vocabulary_log_prob - log_prob).exp()
        if self.extra_gradient is not None:
            self.extra_gradient.index_copy_(0, rows, (fraction - sharp).to(self.extra_gradient.dtype))
        if self.states_gradient is not None or self.matrix_gradient is not None:
            logits_gradient = exponentials.mul_(((fraction + smooth) / exponential_sum)[:, None])
            self._backpropagate(rows, states, logits_gradient.scatter_add_(1, target[:, None], -fraction[:, None]))

    def smooth(self) -> None:
        """Add the mean logit over the vocabulary, the product of states and the mean row of the matrix."""
        bias, rows, weight = self.bias, self.rows, self.smoothing
        possible = self.rounded.new_ones(len(self.matrix), dtype=self.exact)
        if bias is not None:
            possible = (bias > -torch.inf).to(self.exact)
        uniform = possible / possible.sum()
        mean_row = uniform @ self.matrix.to(self.exact)  # (dim,)
        real = self.real.index_select(0, rows).to(self.exact)
        summed = real @ self.states.index_select(0, rows).to(self.exact)  # (dim,)
        self.nll -= weight * (summed @ mean_row)
        if bias is not None:
            self.nll -= weight * real.sum() * (uniform @ bias.masked_fill(possible == 0, 0.0).to(self.exact))
        if self.states_gradient is not None:
            gradient = (-weight * real)[:, None] * mean_row
            self.states_gradient.index_add_(0, rows, gradient.to(self.states_gradient.dtype))
        if self.matrix_gradient is not None:
            self.matrix_gradient.addr_(uniform, summed, alpha=-weight)

    def _backpropagate(self, rows: Tensor, states: Tensor, logits_gradient: Tensor) -> None:
        """Propagate the gradient of some tokens' logits (rows, vocab) to states and matrix."""
        logits_gradient = logits_gradient.to(self.precision)
        if self.states_gradient is not None:
            states_gradient = (logits_gradient @ self.rounded).to(self.states_gradient.dtype)
            self.states_gradient.index_copy_(0, rows, states_gradient)
        if self.matrix_gradient is None:
            return
        if logits_gradient.dtype == self.exact:
            self.matrix_gradient.addmm_(logits_gradient.T, states)
        else:
            self.matrix_gradient += logits_gradient.T @ states
