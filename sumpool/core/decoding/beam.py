"""Batched beam search and sampling over a step function.

The search knows neither model nor tokenizer, only a function that returns log-probabilities of the next token, and a
state that can be reordered and reduced. Each document is searched independently of its batch mates and leaves the batch
when its own search has finished.

The search of a document has finished when as many hypotheses as beams have ended and no unfinished one can exceed the
worst of them, according to `ranking`. With one beam the search is greedy and finishes at the first EOS.

On a CPU hypotheses are values of Python, with any constraint. On other devices they are tensors (`device_search`), and
the host waits for the device every sixteenth token instead of every one. Both find the same hypotheses.

Samples are independent; each token is drawn from the model's probabilities at a temperature. The caller provides one
random number per token, so that neither batch mates nor the order of computation change a sample.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from sumpool.core.decoding.config import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.constraints import NO_RULES, Constraint, Rules, after_all, can_apply_on_device
from sumpool.core.nn.kernels import draw
from sumpool.core.nn.numerics import round_up, to_device
from sumpool.special_tokens import SpecialTokens

COMPACT_BELOW = {"cuda": 0.5}
"""By device, the fraction of unfinished documents at which finished ones are dropped from the batch; 1 elsewhere. On a
GPU few rows take the time of many, and each batch size needs a CUDA graph of its own."""

ROWS_MULTIPLE = 4
"""Rows of a document in a batch are dropped this many at a time; to fewer rows a CPU applies other kernels."""

DRAWN_BLOCK = 128
"""Tokens whose probabilities are summed before one of them is drawn: cumulative sums over a vocabulary take longer than
all else of a draw."""

NAN = -1
"""In the place of a token: the log-probabilities of its row have a NaN."""

HOST_DEVICES = ["cpu"]
"""Types of the devices on which hypotheses and samples are values of Python."""


class SearchState(Protocol):
    """State of a step function between two steps; rows are documents times beams, those of a document side by side."""

    def reorder(self, rows: Tensor) -> Self:
        """Continue rows `rows` (batch * beams,), each of the same document; there may be fewer beams."""

    def select(self, documents: Tensor) -> Self:
        """Continue with these documents only, (fewer,) indices."""


StateT = TypeVar("StateT", bound=SearchState)


Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""Maps the last tokens (batch * beams,) and a state to log-probabilities (batch * beams, vocab), which the search
overwrites, and the next state."""


@torch.inference_mode()
def search(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    ranking: Ranking,
    rules: Rules = NO_RULES,
    *,
    limits: Sequence[Sequence[Constraint]] = (),
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """Search the best summaries of a batch of documents.

    Constraints take precedence over the minimum length: where they forbid every token, the best hypothesis ends.
    Of equal candidates the one with the lower beam, then the lower token id, comes first.

    Args:
        step: Computes log-probabilities of the next token.
        state: State before the first token, `ranking.beams` rows for each document.
        lengths: Length bounds of each document.
        ranking: Number of beams, scores and stopping criterion.
        rules: Prefix, constraints and special tokens of every summary.
        limits: For each document, further constraints of its summary; empty if none has any.
        device: Device of the input of `step`.

    Returns:
        For each document one to `ranking.beams` hypotheses, best first.

    Raises:
        ValueError: If a length is out of its range, or `step` returns NaN.
    """
    for bounds in lengths:
        if not 0 <= bounds.minimum <= bounds.maximum:
            raise ValueError(f"lengths must keep 0 <= minimum <= maximum, got {bounds.minimum} and {bounds.maximum}")
    beams = ranking.beams
    last, state = feed_prefix(step, state, len(lengths) * beams, rules, device)
    if not is_host(device) and can_apply_on_device(rules, limits):
        # Imported here, as most searches are those of a CPU.
        from sumpool.core.decoding.device_search import DeviceBeams, run_on_device

        return run_on_device(step, last, state, DeviceBeams(lengths, ranking, rules, last))
    eos = rules.special_tokens.eos
    documents = []
    for bounds, further in zip(lengths, limits or [()] * len(lengths), strict=True):
        constraints = after_all([*rules.constraints, *further], rules.prefix)
        first = _LiveHypothesis(tuple(rules.prefix), 0.0, constraints)
        documents.append(_DocumentSearch(bounds, ranking, first, eos))
    active = documents
    while active:
        log_probs, state = step(last, state)
        origins = _advance(active, log_probs.float(), ranking, rules.special_tokens)
        keep = documents_to_keep([not document.finished for document in active], device)
        if not keep:
            break
        if len(keep) < len(active):
            active = [active[index] for index in keep]
            state = state.select(to_device(keep, last))
        rows = [beams * index + row for index, previous in enumerate(keep) for row in origins[previous]]
        if rows != list(range(len(rows))):
            state = state.reorder(to_device(rows, last))
        last = to_device([token for document in active for token in document.last_tokens], last)
    return [document.ended for document in documents]


def is_host(device: torch.device | str) -> bool:
    """Return whether hypotheses on a device are values of Python."""
    return torch.device(device).type in HOST_DEVICES


@dataclass(frozen=True)
class _LiveHypothesis:
    tokens: tuple[int, ...]
    log_prob: float
    constraints: tuple[Constraint, ...]


class _DocumentSearch:
    """Search of one document: unfinished and finished hypotheses, best first."""

    def __init__(self, lengths: Lengths, ranking: Ranking, first: _LiveHypothesis, eos: int) -> None:
        self.lengths = lengths
        self.live = [first]
        self.ended: list[Hypothesis] = []
        self._ranking = ranking
        self._eos = eos

    @property
    def finished(self) -> bool:
        """Whether no better hypothesis can follow."""
        ranking = self._ranking
        if not self.live or (ranking.beams == 1 and self.ended):
            return True
        if len(self.ended) < ranking.beams:
            return False
        first = self.live[0]
        attainable = ranking.attainable_score(first.log_prob, len(first.tokens), self.lengths)
        return ranking.early_stopping or attainable <= self.ended[-1].score

    @property
    def last_tokens(self) -> list[int]:
        """Last token of every beam; beams without a hypothesis repeat the first and do not count."""
        tokens = [live.tokens[-1] for live in self.live] or [self._eos]
        return tokens + tokens[:1] * (self._ranking.beams - len(tokens))

    def advance(self, candidates: Iterable[tuple[float, int, int]]) -> list[int]:
        """Extend hypotheses by the best candidates.

        Args:
            candidates: (log-probability, beam, next token), best first.

        Returns:
            The previous beam of each beam; beams without a hypothesis repeat the first.
        """
        beams, before = self._ranking.beams, self.live
        last = not self._ranking.force_end and len(before[0].tokens) + 1 == self.lengths.maximum
        self.live = []
        rows: list[int] = []
        for rank, (log_prob, row, token) in enumerate(candidates):
            tokens = before[row].tokens
            if token == self._eos or last:
                if rank < beams:  # an EOS ranked below the beam does not count
                    self.end(tokens if token == self._eos else (*tokens, token), log_prob, len(tokens) + 1)
            elif len(rows) < beams:
                self.live.append(
                    _LiveHypothesis((*tokens, token), log_prob, after_all(before[row].constraints, [token]))
                )
                rows.append(row)
        return rows + (rows or [0])[:1] * (beams - len(rows))

    def end(self, tokens: tuple[int, ...], log_prob: float, length: int) -> None:
        """Add a finished hypothesis; of equal scores the one that finished first is kept."""
        self.ended.append(Hypothesis(tokens, self._ranking.score(log_prob, length), log_prob))
        self.ended.sort(key=lambda hypothesis: -hypothesis.score)
        del self.ended[self._ranking.beams :]


def feed_prefix(
    step: Step[StateT], state: StateT, rows: int, rules: Rules, device: torch.device | str
) -> tuple[Tensor, StateT]:
    """Feed the prefix of all summaries to a model; return the last token of each row (rows,) and the state."""
    last = torch.full((rows,), rules.special_tokens.decoder_start, device=device)
    for token in rules.prefix if rows else ():
        _, state = step(last, state)
        last = torch.full_like(last, token)
    return last, state


def _advance(
    active: Sequence[_DocumentSearch], log_probs: Tensor, ranking: Ranking, special_tokens: SpecialTokens
) -> list[list[int]]:
    """Extend the hypotheses of every document; return the previous beam of each of its beams."""
    beams, vocab = ranking.beams, log_probs.size(-1)
    eos_log_probs = log_probs[:, special_tokens.eos].clone()
    # equal for all hypotheses, which started together
    length = next(len(document.live[0].tokens) for document in active if not document.finished)
    constraints = [[live.constraints for live in document.live] for document in active]
    forbid(log_probs, length, [document.lengths for document in active], constraints, special_tokens)
    if ranking.forced_end_is_free:
        full = [index for index, document in enumerate(active) if length >= document.lengths.maximum]
        log_probs.view(len(active), beams, vocab)[full, :, special_tokens.eos] = 0.0
    sums = [[live.log_prob for live in document.live] for document in active]
    sums = [row + [-math.inf] * (beams - len(row)) for row in sums]
    totals = log_probs.view(len(active), beams, vocab).add_(to_device(sums, log_probs, log_probs.dtype)[..., None])
    # EOS is at most one candidate per beam: `beams` others are always among twice as many candidates
    best, flat = _top(totals.flatten(1), min(2 * beams if beams > 1 else 1, beams * vocab))
    origins = []
    for index, (document, scores, indices) in enumerate(zip(active, best, flat, strict=True)):
        if document.finished:  # but still in the batch
            origins.append(list(range(beams)))
            continue
        if any(map(math.isnan, scores)):
            raise ValueError(f"step must return log-probabilities, got NaN after {len(document.live[0].tokens)} tokens")
        ranked = sorted(zip(scores, indices, strict=True), key=lambda candidate: (-candidate[0], candidate[1]))
        first = document.live[0]
        origins.append(
            document.advance((total, *divmod(candidate, vocab)) for total, candidate in ranked if total > -math.inf)
        )
        if not document.live and not document.ended:
            document.end(first.tokens, first.log_prob + float(eos_log_probs[index * beams]), len(first.tokens) + 1)
    return origins


def forbid(
    log_probs: Tensor,
    length: int,
    lengths: Sequence[Lengths],
    constraints: Sequence[Sequence[Sequence[Constraint]]],
    special_tokens: SpecialTokens,
) -> None:
    """Set the log-probabilities of forbidden tokens to -inf, without waiting for their device.

    Args:
        log_probs: (documents * rows, vocab), overwritten.
        length: Tokens of every hypothesis.
        lengths: Length bounds of each document.
        constraints: Constraints of the first rows of each document.
        special_tokens: Ids of the end of a summary and of suppressed tokens.
    """
    eos = special_tokens.eos
    log_probs.index_fill_(1, to_device(special_tokens.suppressed, log_probs, torch.long), -math.inf)
    by_document = log_probs.view(len(lengths), -1, log_probs.size(-1))
    rows: list[int] = []
    tokens: list[int] = []
    for index, (bounds, document) in enumerate(zip(lengths, constraints, strict=True)):
        first, after = index * by_document.size(1), (index + 1) * by_document.size(1)
        if length < bounds.minimum:
            rows.extend(range(first, after))
            tokens.extend([eos] * (after - first))
        if length >= bounds.maximum:
            by_document[index, :, :eos] = -math.inf
            by_document[index, :, eos + 1 :] = -math.inf
        for row, hypothesis in enumerate(document, first):
            for constraint in hypothesis:
                forbidden = constraint.forbidden()
                rows.extend([row] * len(forbidden))
                tokens.extend(forbidden)
    if rows:
        indices = to_device([rows, tokens], log_probs)
        log_probs[indices[0], indices[1]] = -math.inf


def _top(scores: Tensor, count: int) -> tuple[list[list[float]], list[list[int]]]:
    """Copy the `count` highest scores of each row (batch, candidates) and their indices to the host.

    They are in any order; of equal scores at the cut the first ones are taken. `topk` may take any: rows with equal
    scores on both sides are sorted, which is rare.
    """
    if count == 1:
        indices = scores.argmax(-1, keepdim=True)
        best = scores.gather(-1, indices)
    else:
        best, indices = scores.topk(min(count + 1, scores.size(-1)))  # one more shows ties at the cut
    values, columns = best.tolist(), indices.tolist()
    for row, ordered in enumerate(values):
        if len(ordered) > count and ordered[count - 1] == ordered[count] > -math.inf:
            stable = scores[row].sort(stable=True, descending=True)
            values[row], columns[row] = stable.values[:count].tolist(), stable.indices[:count].tolist()
    return [row[:count] for row in values], [row[:count] for row in columns]


def documents_to_keep(unfinished: Sequence[bool], device: torch.device | str) -> list[int]:
    """Return the indices of documents that stay in the batch: unfinished ones, or all while few are finished."""
    remaining = [index for index, is_unfinished in enumerate(unfinished) if is_unfinished]
    keep_all = len(remaining) > COMPACT_BELOW.get(torch.device(device).type, 1.0) * len(unfinished)
    return list(range(len(unfinished))) if keep_all else remaining


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
    rows, device = draws.size(1), draws.device
    last, state = feed_prefix(step, state, len(lengths) * rows, rules, device)
    if not is_host(device) and can_apply_on_device(rules):
        # Imported here, as most samples are those of a CPU.
        from sumpool.core.decoding.device_search import DeviceSamples, run_on_device

        return run_on_device(step, last, state, DeviceSamples(lengths, draws, temperature, rules, last))
    eos = rules.special_tokens.eos
    initial = after_all(rules.constraints, rules.prefix)
    samples = [_Sample(tuple(rules.prefix), initial, eos) for _ in range(len(lengths) * rows)]
    active = [list(range(rows * index, rows * (index + 1))) for index in range(len(lengths))]  # samples in the batch
    length = len(rules.prefix)
    while active:
        log_probs, state = step(last, state)
        bounds = [lengths[indices[0] // rows] for indices in active]
        constraints = [[samples[index].constraints for index in indices] for indices in active]
        forbid(log_probs, length, bounds, constraints, rules.special_tokens)
        order = list(chain.from_iterable(active))
        numbers = draws[..., length].flatten()[to_device(order, draws)]
        tokens = draw_tokens(log_probs, numbers, temperature, eos).tolist()
        if NAN in tokens:
            raise ValueError("step must return log-probabilities, got NaN")
        inputs = {index: samples[index].advance(token) for index, token in zip(order, tokens, strict=True)}
        length += 1
        # Documents whose samples have all ended leave, then as many ended samples of each as all documents have.
        keep = documents_to_keep([not all(samples[index].ended for index in indices) for indices in active], device)
        if not keep:
            break
        if len(keep) < len(active):
            state = state.select(to_device(keep, last))
            active = [active[document] for document in keep]
        unfinished = max(sum(not samples[index].ended for index in indices) for indices in active)
        width = round_up(unfinished, ROWS_MULTIPLE)  # which depends on batch mates
        if width < len(active[0]):  # unfinished ones first
            fewer = [sorted(indices, key=lambda index: samples[index].ended)[:width] for indices in active]
            kept = [
                document * len(indices) + indices.index(index)
                for document, (indices, remaining) in enumerate(zip(active, fewer, strict=True))
                for index in remaining
            ]
            active, state = fewer, state.reorder(to_device(kept, last))
        last = to_device([inputs[index] for index in chain.from_iterable(active)], last, torch.long)
    return [[sample.tokens for sample in samples[first : first + rows]] for first in range(0, len(samples), rows)]


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


def draw_tokens(log_probs: Tensor, draws: Tensor, temperature: float, eos: int) -> Tensor:
    """Draw a token for every row by its cumulative distribution: a block of the vocabulary, then a token of it.

    Args:
        log_probs: (rows, vocab), overwritten.
        draws: (rows,), uniform in [0, 1).
        temperature: Above 0.
        eos: The token where all are forbidden.

    Returns:
        (rows,), `NAN` where log-probabilities are.
    """
    compiled = draw(log_probs, draws, temperature, eos)
    if compiled is not None:
        return compiled
    best = log_probs.amax(-1, keepdim=True)
    weights = log_probs.sub_(best).div_(temperature).exp_()  # (rows, vocab)
    vocab = weights.size(1)
    whole, rest = weights.split([vocab - vocab % DRAWN_BLOCK, vocab % DRAWN_BLOCK], dim=1)
    blocks = torch.cat([whole.unflatten(1, (-1, DRAWN_BLOCK)).sum(-1), rest.sum(1, keepdim=True)], dim=1)
    sums = blocks.cumsum(1, dtype=torch.double)  # of thousands of tokens
    goals = draws[:, None] * sums[:, -1:]
    block = torch.searchsorted(sums, goals, right=True).clamp_(max=sums.size(1) - 1)
    goals = (goals - (sums - blocks).gather(1, block)).clamp_(min=0)
    ids = (block * DRAWN_BLOCK + torch.arange(DRAWN_BLOCK, device=block.device)).clamp_(max=vocab - 1)
    sums = weights.gather(1, ids).cumsum(1, dtype=torch.double)
    # Rounding of the sums must not lead to the end of the block, whose last tokens may be forbidden.
    goals = torch.minimum(goals, sums[:, -1:] * (1 - torch.finfo(torch.double).eps))
    tokens = ids.gather(1, torch.searchsorted(sums, goals, right=True).clamp_(max=DRAWN_BLOCK - 1)).squeeze(1)
    best = best.squeeze(1)  # NaN if any of the row is
    return tokens.where(best > -torch.inf, eos).where(~best.isnan(), NAN)
