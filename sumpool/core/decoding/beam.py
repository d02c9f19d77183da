"""Batched beam search over a step function.

The search knows neither model nor tokenizer, only a function that returns log-probabilities of the next token, and a
state that can be reordered and reduced. Each document is searched independently of its batch mates and leaves the batch
when its own search has finished.

The search of a document has finished when as many hypotheses as beams have ended and no unfinished one can exceed the
worst of them, according to `ranking`. With one beam the search is greedy and finishes at the first EOS.

On a CPU hypotheses are values of Python, with any constraint. On other devices they are tensors (`device_search`), and
the host waits for the device every sixteenth token instead of every one. Both find the same hypotheses.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import NO_RULES, Constraint, Rules, after_all, can_apply_on_device
from sumpool.core.decoding.ranking import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.step import StateT, Step, documents_to_keep, feed_prefix, forbid, is_host
from sumpool.core.nn.numerics import to_device
from sumpool.special_tokens import SpecialTokens


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
    def best(self) -> tuple[int, ...]:
        """Tokens of the best hypothesis so far."""
        return (self.ended if self.finished else self.live)[0].tokens

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


@torch.inference_mode()
def search(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    ranking: Ranking,
    rules: Rules = NO_RULES,
    *,
    limits: Sequence[Sequence[Constraint]] = (),
    on_step: Callable[[list[tuple[int, ...]]], None] | None = None,
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
        on_step: Called after each step with the tokens of the best hypothesis of each document so far.
        device: Device of the input of `step`.

    Returns:
        For each document one to `ranking.beams` hypotheses, best first.

    Raises:
        ValueError: If a length is out of its range, or `step` returns NaN.
    """
    for bounds in lengths:
        if not 0 <= bounds.minimum <= bounds.maximum:
            raise ValueError(f"lengths must keep 0 <= minimum <= maximum, got {bounds.minimum} and {bounds.maximum}")
    if not is_host(device) and not on_step and can_apply_on_device(rules, limits):
        # Imported here, as most searches are those of a CPU.
        from sumpool.core.decoding.device_search import search_on_device

        return search_on_device(step, state, lengths, ranking, rules, device=device)
    return search_on_host(step, state, lengths, ranking, rules, limits=limits, on_step=on_step, device=device)


def search_on_host(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    ranking: Ranking,
    rules: Rules,
    *,
    limits: Sequence[Sequence[Constraint]],
    on_step: Callable[[list[tuple[int, ...]]], None] | None,
    device: torch.device | str,
) -> list[list[Hypothesis]]:
    """Search with hypotheses as values of Python; see `sumpool.core.decoding.beam.search`."""
    beams = ranking.beams
    eos = rules.special_tokens.eos
    documents = []
    for bounds, further in zip(lengths, limits or [()] * len(lengths), strict=True):
        constraints = after_all([*rules.constraints, *further], rules.prefix)
        first = _LiveHypothesis(tuple(rules.prefix), 0.0, constraints)
        documents.append(_DocumentSearch(bounds, ranking, first, eos))
    active = documents
    last, state = feed_prefix(step, state, len(documents) * beams, rules, device)
    while active:
        log_probs, state = step(last, state)
        origins = _advance(active, log_probs.float(), ranking, rules.special_tokens)
        if on_step:
            on_step([document.best for document in documents])
        keep = documents_to_keep([not document.finished for document in active], device)
        if not keep:
            break
        if len(keep) < len(active):
            active = [active[index] for index in keep]
            state = state.select(to_device(keep, last))
        rows = [beams * index + row for index, previous in enumerate(keep) for row in origins[previous]]
        if rows != list(range(len(rows))):
            state = state.reorder(to_device(rows, last))
        last = to_device([token for document in active for token in _last_tokens(document, beams, eos)], last)
    return [document.ended for document in documents]


def _last_tokens(document: _DocumentSearch, beams: int, eos: int) -> list[int]:
    """Return the last token of every beam; beams without a hypothesis repeat the first and do not count."""
    tokens = [live.tokens[-1] for live in document.live] or [eos]
    return tokens + tokens[:1] * (beams - len(tokens))


def _advance(
    active: Sequence[_DocumentSearch], log_probs: Tensor, ranking: Ranking, special_tokens: SpecialTokens
) -> list[list[int]]:
    """Extend the hypotheses of every document; return the previous beam of each of its beams."""
    beams, vocab = ranking.beams, log_probs.size(-1)
    eos_log_probs = log_probs[:, special_tokens.eos].clone()
    _forbid(active, log_probs, ranking, special_tokens)
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
            document.advance(
                (total, *divmod(int(candidate), vocab)) for total, candidate in ranked if total > -math.inf
            )
        )
        if not document.live and not document.ended:
            document.end(first.tokens, first.log_prob + float(eos_log_probs[index * beams]), len(first.tokens) + 1)
    return origins


def _forbid(
    active: Sequence[_DocumentSearch], log_probs: Tensor, ranking: Ranking, special_tokens: SpecialTokens
) -> None:
    """Set forbidden tokens of log_probs (batch * beams, vocab) to -inf."""
    # equal for all hypotheses, which started together
    length = next(len(document.live[0].tokens) for document in active if not document.finished)
    constraints = [[live.constraints for live in document.live] for document in active]
    forbid(log_probs, length, [document.lengths for document in active], constraints, special_tokens)
    if ranking.forced_end_is_free:
        full = [index for index, document in enumerate(active) if length >= document.lengths.maximum]
        log_probs.view(len(active), ranking.beams, -1)[full, :, special_tokens.eos] = 0.0


def _top(scores: Tensor, count: int) -> tuple[list[list[float]], list[list[float]]]:
    """Copy the `count` highest scores of each row (batch, candidates) and their indices to the host.

    They are in any order; of equal scores at the cut the first ones are taken. `topk` may take any: rows with equal
    scores on both sides are sorted, which is rare. Scores and indices are one copy, for which the host waits once.
    """
    if count == 1:
        indices = scores.argmax(-1, keepdim=True)
        best = scores.gather(-1, indices)
    else:
        best, indices = scores.topk(min(count + 1, scores.size(-1)))  # one more shows ties at the cut
    rows = torch.cat([best.double(), indices.double()], dim=1).tolist()  # exact up to 2^53
    values, columns = [row[: best.size(1)] for row in rows], [row[best.size(1) :] for row in rows]
    for row, ordered in enumerate(values):
        if len(ordered) > count and ordered[count - 1] == ordered[count] > -math.inf:
            stable = scores[row].sort(stable=True, descending=True)
            values[row], columns[row] = stable.values[:count].tolist(), stable.indices[:count].tolist()
    return [row[:count] for row in values], [row[:count] for row in columns]
