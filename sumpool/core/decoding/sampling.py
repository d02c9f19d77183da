"""Summaries drawn from what a model foresees: not its best one, but a picture of all that it might write.

Each is drawn on its own, piece by piece, from the probabilities of the model sharpened by a temperature. What decides
is a number per piece that the caller has drawn, so that neither batch mates nor the order of work change a summary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import NO_RULES, Constraint, Rules, after_all, forbid
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.decoding.step import StateT, Step, begin, kept, widest


@dataclass
class _Sample:
    tokens: tuple[int, ...]
    constraints: tuple[Constraint, ...]
    eos: int
    ended: bool = False

    def advance(self, piece: int) -> int:
        """Go on with a piece, or stay ended; return what is shown to the model."""
        self.ended = self.ended or piece == self.eos
        if self.ended:
            return self.eos
        self.tokens = (*self.tokens, piece)
        self.constraints = after_all(self.constraints, [piece])
        return piece


@torch.inference_mode()
def sample(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    draws: Tensor,
    temperature: float,
    rules: Rules = NO_RULES,
) -> list[list[tuple[int, ...]]]:
    """Draw summaries of a batch of documents.

    Where a constraint forbids every piece, the summary ends as it stands.

    Args:
        step: Gives log-probabilities of the next piece.
        state: The state before the first piece, as many rows for each document as summaries are drawn.
        lengths: Shortest and longest summary of each document.
        draws: (documents, samples, steps), numbers from 0 to below 1 in float32, where `step` wants its input: the
            piece is taken at which the probabilities, added up in the order of the vocabulary, pass the number. There
            is one step more than the longest summary has pieces.
        temperature: Above 0; 1 draws from the model's own probabilities, less prefers what is likely.
        rules: Prefix, constraints and special tokens of every summary.

    Returns:
        For each document its summaries, without begin and end.

    Raises:
        ValueError: If `step` gives NaN.
    """
    rows, device = draws.size(1), draws.device
    eos = rules.special_tokens.eos
    begun = after_all(rules.constraints, rules.prefix)
    drawn = [_Sample(tuple(rules.prefix), begun, eos) for _ in range(len(lengths) * rows)]
    active = [list(range(rows * place, rows * (place + 1))) for place in range(len(lengths))]  # those in the state
    last, state = begin(step, state, len(drawn), rules, device)
    written = len(rules.prefix)
    while active:
        log_probs, state = step(last, state)
        bounds = [lengths[numbers[0] // rows] for numbers in active]
        constraints = [[drawn[number].constraints for number in numbers] for numbers in active]
        forbid(log_probs, written, bounds, constraints, rules.special_tokens)
        going = list(chain.from_iterable(active))
        pieces = _draw(log_probs, draws.flatten(0, 1)[going, written], temperature, eos)
        shown = {number: drawn[number].advance(piece) for number, piece in zip(going, pieces, strict=True)}
        written += 1
        active, state = _leave(active, [sample.ended for sample in drawn], state, device)
        last = torch.tensor([shown[number] for number in chain.from_iterable(active)], device=device)
    return [[sample.tokens for sample in drawn[first : first + rows]] for first in range(0, len(drawn), rows)]


def _leave(
    active: list[list[int]], ended: Sequence[bool], state: StateT, device: torch.device
) -> tuple[list[list[int]], StateT]:
    """Let documents leave whose summaries have all ended, then of each document as many that have as all can spare."""
    staying = kept([not all(ended[number] for number in numbers) for numbers in active], device)
    if 0 < len(staying) < len(active):
        state = state.select(torch.tensor(staying, device=device))
    active = [active[place] for place in staying]
    if not active:
        return active, state
    width = widest([[not ended[number] for number in numbers] for numbers in active], device)
    if width == len(active[0]):
        return active, state
    fewer = [sorted(numbers, key=lambda number: ended[number])[:width] for numbers in active]  # those that go on first
    places = [
        place * len(numbers) + numbers.index(number)
        for place, (numbers, some) in enumerate(zip(active, fewer, strict=True))
        for number in some
    ]
    return fewer, state.reorder(torch.tensor(places, device=device))


def _draw(log_probs: Tensor, draws: Tensor, temperature: float, eos: int) -> list[int]:
    """Take a piece for every row: log_probs (rows, vocab), draws (rows,); END where none is allowed."""
    if log_probs.isnan().any():
        raise ValueError("step must give log-probabilities, got NaN")
    log_probs = log_probs.double()  # sums of thousands of pieces
    best = log_probs.amax(-1, keepdim=True)
    sums = ((log_probs - best) / temperature).exp().cumsum(-1)  # (rows, vocab)
    pieces = torch.searchsorted(sums, draws[:, None] * sums[:, -1:], right=True).squeeze(-1)
    return pieces.where(best.squeeze(-1) > -torch.inf, eos).tolist()
