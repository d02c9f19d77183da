"""Sampling of summaries from the model's distribution.

Samples are independent; each token is drawn from the model's probabilities at a temperature. The caller provides one
random number per token, so that neither batch mates nor the order of computation change a sample. As in a search,
tokens are values of Python on a CPU, and tensors (`device_search`) on other devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import NO_RULES, Constraint, Rules, after_all, can_apply_on_device
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.decoding.step import (
    StateT,
    Step,
    documents_to_keep,
    feed_prefix,
    forbid,
    is_host,
    rows_to_keep,
)
from sumpool.core.nn.numerics import to_device

NAN = -1
"""In the place of a token: the log-probabilities of its row have a NaN."""


@dataclass
class _Sample:
    tokens: tuple[int, ...]
    constraints: tuple[Constraint, ...]
    eos: int
    ended: bool = False

    def advance(self, token: int) -> int:
        """Append a token unless the sample has ended; return the next input of the model."""
        self.ended = self.ended or token == self.eos
        if self.ended:
            return self.eos
        self.tokens = (*self.tokens, token)
        self.constraints = after_all(self.constraints, [token])
        return token


@torch.inference_mode()
def sample(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    draws: Tensor,
    temperature: float,
    rules: Rules = NO_RULES,
) -> list[list[tuple[int, ...]]]:
    """Sample summaries of a batch of documents.

    Where constraints forbid every token, the sample ends.

    Args:
        step: Computes log-probabilities of the next token.
        state: State before the first token, one row per sample, those of a document side by side.
        lengths: Length bounds of each document.
        draws: (documents, samples, steps), uniform random numbers in [0, 1) in float32, on the device of `step`: the
            token is drawn at which the cumulative distribution exceeds the number. There is one step more than the
            maximum length.
        temperature: Above 0; 1 samples from the model's distribution, less sharpens it.
        rules: Prefix, constraints and special tokens of every summary.

    Returns:
        For each document its samples, without BOS and EOS.

    Raises:
        ValueError: If `step` returns NaN.
    """
    if not is_host(draws.device) and can_apply_on_device(rules):
        # Imported here, as most samples are those of a CPU.
        from sumpool.core.decoding.device_search import sample_on_device

        return sample_on_device(step, state, lengths, draws, temperature, rules)
    return sample_on_host(step, state, lengths, draws, temperature, rules)


def sample_on_host(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    draws: Tensor,
    temperature: float,
    rules: Rules,
) -> list[list[tuple[int, ...]]]:
    """Sample with tokens as values of Python; see `sample`."""
    rows, device = draws.size(1), draws.device
    eos = rules.special_tokens.eos
    initial = after_all(rules.constraints, rules.prefix)
    samples = [_Sample(tuple(rules.prefix), initial, eos) for _ in range(len(lengths) * rows)]
    active = [list(range(rows * index, rows * (index + 1))) for index in range(len(lengths))]  # samples in the batch
    last, state = feed_prefix(step, state, len(samples), rules, device)
    length = len(rules.prefix)
    while active:
        log_probs, state = step(last, state)
        bounds = [lengths[indices[0] // rows] for indices in active]
        constraints = [[samples[index].constraints for index in indices] for indices in active]
        forbid(log_probs, length, bounds, constraints, rules.special_tokens)
        order = list(chain.from_iterable(active))
        tokens = _draw(log_probs, draws[..., length].flatten()[to_device(order, draws)], temperature, eos)
        inputs = {index: samples[index].advance(token) for index, token in zip(order, tokens, strict=True)}
        length += 1
        active, state = _drop_ended(active, [sample.ended for sample in samples], state, last)
        last = to_device([inputs[index] for index in chain.from_iterable(active)], last, torch.long)
    return [[sample.tokens for sample in samples[first : first + rows]] for first in range(0, len(samples), rows)]


def _drop_ended(
    active: list[list[int]], ended: Sequence[bool], state: StateT, last: Tensor
) -> tuple[list[list[int]], StateT]:
    """Drop documents whose samples have all ended, then as many ended samples of each as all documents have."""
    device = last.device
    keep = documents_to_keep([not all(ended[index] for index in indices) for indices in active], device)
    if 0 < len(keep) < len(active):
        state = state.select(to_device(keep, last))
    active = [active[document] for document in keep]
    if not active:
        return active, state
    width = rows_to_keep([[not ended[index] for index in indices] for indices in active], device)
    if width == len(active[0]):
        return active, state
    fewer = [sorted(indices, key=lambda index: ended[index])[:width] for indices in active]  # unfinished ones first
    rows = [
        document * len(indices) + indices.index(index)
        for document, (indices, remaining) in enumerate(zip(active, fewer, strict=True))
        for index in remaining
    ]
    return fewer, state.reorder(to_device(rows, last))


def _draw(log_probs: Tensor, draws: Tensor, temperature: float, eos: int) -> list[int]:
    """Draw a token for every row of log_probs (rows, vocab) by draws (rows,); EOS where all are forbidden."""
    drawn: list[int] = draw_tokens(log_probs, draws, temperature, eos).tolist()
    if NAN in drawn:
        raise ValueError("step must return log-probabilities, got NaN")
    return drawn


def draw_tokens(log_probs: Tensor, draws: Tensor, temperature: float, eos: int) -> Tensor:
    """Draw a token for every row of log_probs (rows, vocab) by draws (rows,): EOS where all are forbidden, or `NAN`."""
    best = log_probs.amax(-1, keepdim=True)
    weights = ((log_probs - best) / temperature).exp_()  # (rows, vocab)
    sums = weights.cumsum(-1, dtype=torch.double)  # of thousands of tokens
    tokens = torch.searchsorted(sums, draws[:, None] * sums[:, -1:], right=True).squeeze(-1)
    best = best.squeeze(-1)  # NaN if any of the row is
    return tokens.where(best > -torch.inf, eos).where(~best.isnan(), NAN)
