"""Batched beam search over a step function.

The search knows neither model nor tokenizer: it is handed a function that gives every next piece its log-probability,
and a state that it can only reorder and shrink. Each document is searched on its own, so that its batch mates decide
nothing, and leaves the batch when its own search is over.

The search of a document is over when as many hypotheses as it has beams have ended and no live one is hoped to beat
the worst of them, as `ranking` says. With one beam the search is greedy and is over at the first end.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import NO_RULES, Constraint, Rules, after_all, forbid
from sumpool.core.decoding.ranking import Lengths, Ranking
from sumpool.core.decoding.step import StateT, Step, begin, kept
from sumpool.special_tokens import SpecialTokens


@dataclass(frozen=True)
class Hypothesis:
    """An ended summary.

    Attributes:
        tokens: Its pieces, forced first ones included, without begin and end.
        score: By the length formula; higher is better.
        log_prob: sum(log p), in nats, its end included; forced first pieces add nothing.
    """

    tokens: tuple[int, ...]
    score: float
    log_prob: float


@dataclass(frozen=True)
class _Live:
    tokens: tuple[int, ...]
    log_prob: float
    constraints: tuple[Constraint, ...]


class _Document:
    """The search of one document: hypotheses that live and hypotheses that ended, each list best first."""

    def __init__(self, lengths: Lengths, ranking: Ranking, first: _Live, eos: int) -> None:
        self.lengths = lengths
        self.live = [first]
        self.ended: list[Hypothesis] = []
        self._ranking = ranking
        self._eos = eos

    @property
    def over(self) -> bool:
        """Whether nothing better is to come."""
        ranking = self._ranking
        if not self.live or (ranking.beams == 1 and self.ended):
            return True
        if len(self.ended) < ranking.beams:
            return False
        first = self.live[0]
        hope = ranking.hope(first.log_prob, len(first.tokens), self.lengths)
        return ranking.early_stopping or hope <= self.ended[-1].score

    def advance(self, candidates: Iterable[tuple[float, int, int]]) -> list[int]:
        """Continue with the best candidates.

        Args:
            candidates: (log-probability so far, row among the beams, next piece), best first.

        Returns:
            The row that each beam comes from; beams without a hypothesis repeat the first.
        """
        beams, before = self._ranking.beams, self.live
        last = not self._ranking.force_end and len(before[0].tokens) + 1 == self.lengths.maximum
        self.live = []
        rows: list[int] = []
        for rank, (log_prob, row, piece) in enumerate(candidates):
            tokens = before[row].tokens
            if piece == self._eos or last:
                if rank < beams:  # an end outside the beam is no better than what left the beam
                    self.end(tokens if piece == self._eos else (*tokens, piece), log_prob, len(tokens) + 1)
            elif len(rows) < beams:
                self.live.append(_Live((*tokens, piece), log_prob, after_all(before[row].constraints, [piece])))
                rows.append(row)
        return rows + (rows or [0])[:1] * (beams - len(rows))

    def end(self, tokens: tuple[int, ...], log_prob: float, length: int) -> None:
        """Note a hypothesis that ended with this log-probability; of equals the one that ended first is kept."""
        self.ended.append(Hypothesis(tokens, self._ranking.score(log_prob, length), log_prob))
        self.ended.sort(key=lambda ended: -ended.score)
        del self.ended[self._ranking.beams :]


@torch.inference_mode()
def search(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    ranking: Ranking,
    rules: Rules = NO_RULES,
    *,
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """Search the best summaries of a batch of documents.

    A constraint outranks the shortest length: where it forbids every piece, the best hypothesis ends as it stands.
    Of equal candidates the one with the lower beam, then the lower piece, comes first.

    Args:
        step: Gives log-probabilities of the next piece.
        state: The state before the first piece, `ranking.beams` rows for each document.
        lengths: Shortest and longest summary of each document.
        ranking: How many hypotheses are followed, how they compare and when they end.
        rules: Prefix, constraints and special tokens of every summary.
        device: Where `step` wants its input.

    Returns:
        For each document one to `ranking.beams` hypotheses, best first.

    Raises:
        ValueError: If a length is out of its range, or `step` gives NaN.
    """
    for bounds in lengths:
        if not 0 <= bounds.minimum <= bounds.maximum:
            raise ValueError(f"lengths must keep 0 <= minimum <= maximum, got {bounds.minimum} and {bounds.maximum}")
    beams = ranking.beams
    eos = rules.special_tokens.eos
    first = _Live(tuple(rules.prefix), 0.0, after_all(rules.constraints, rules.prefix))
    documents = [_Document(bounds, ranking, first, eos) for bounds in lengths]
    active = documents
    last, state = begin(step, state, len(documents) * beams, rules, device)
    while active:
        log_probs, state = step(last, state)
        origins = _advance(active, log_probs.float(), ranking, rules.special_tokens)
        going = kept([not document.over for document in active], device)
        if not going:
            break
        if len(going) < len(active):
            active = [active[place] for place in going]
            state = state.select(torch.tensor(going, device=device))
        rows = [beams * place + row for place, before in enumerate(going) for row in origins[before]]
        if rows != list(range(len(rows))):
            state = state.reorder(torch.tensor(rows, device=device))
        last = torch.tensor([piece for document in active for piece in _newest(document, beams, eos)], device=device)
    return [document.ended for document in documents]


def _newest(document: _Document, beams: int, eos: int) -> list[int]:
    """The last piece of every row; rows without a hypothesis repeat the first and count for nothing."""
    pieces = [live.tokens[-1] for live in document.live] or [eos]
    return pieces + pieces[:1] * (beams - len(pieces))


def _advance(
    active: Sequence[_Document], log_probs: Tensor, ranking: Ranking, special_tokens: SpecialTokens
) -> list[list[int]]:
    """Let every document continue with its best candidates; return the row each of its beams comes from."""
    beams, vocab = ranking.beams, log_probs.size(-1)
    ends = log_probs[:, special_tokens.eos].clone()
    _forbid(active, log_probs, ranking, special_tokens)
    so_far = [[live.log_prob for live in document.live] for document in active]
    so_far = [sums + [-math.inf] * (beams - len(sums)) for sums in so_far]
    totals = log_probs.view(len(active), beams, vocab).add_(log_probs.new_tensor(so_far)[..., None])
    # an end takes at most one candidate of each row, so that `beams` others are always among twice as many
    best, places = _top(totals.flatten(1), min(2 * beams if beams > 1 else 1, beams * vocab))  # (batch, candidates)
    origins = []
    for index, (document, *found) in enumerate(zip(active, best.tolist(), places.tolist(), strict=True)):
        if document.over:  # it has not left the batch yet
            origins.append(list(range(beams)))
            continue
        if any(map(math.isnan, found[0])):
            raise ValueError(f"step must give log-probabilities, got NaN after {len(document.live[0].tokens)} pieces")
        ranked = sorted(zip(*found, strict=True), key=lambda candidate: (-candidate[0], candidate[1]))
        first = document.live[0]
        origins.append(document.advance((total, *divmod(place, vocab)) for total, place in ranked if total > -math.inf))
        if not document.live and not document.ended:
            document.end(first.tokens, first.log_prob + float(ends[index * beams]), len(first.tokens) + 1)
    return origins


def _forbid(active: Sequence[_Document], log_probs: Tensor, ranking: Ranking, special_tokens: SpecialTokens) -> None:
    """Set to -inf what may not come next: log_probs (batch * beams, vocab)."""
    # the same for all: they began together
    written = next(len(document.live[0].tokens) for document in active if not document.over)
    constraints = [[live.constraints for live in document.live] for document in active]
    forbid(log_probs, written, [document.lengths for document in active], constraints, special_tokens)
    if ranking.forced_end_is_free:
        full = [place for place, document in enumerate(active) if written >= document.lengths.maximum]
        log_probs.view(len(active), ranking.beams, -1)[full, :, special_tokens.eos] = 0.0


def _top(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Find the `count` highest of each row (batch, candidates), the first ones of equals; their order is not promised.

    `topk` may take any of equals, so that rows with equals on both sides of the cut are sorted, which is rare.
    """
    if count == 1:
        places = scores.argmax(-1, keepdim=True)
        return scores.gather(-1, places), places
    best, places = scores.topk(min(count + 1, scores.size(-1)))  # one more shows whether the cut parts equals
    tied = (best[:, count - 1 : count] == best[:, count:]).any(-1) & (best[:, count - 1] > -math.inf)
    best, places = best[:, :count], places[:, :count]
    if tied.any():
        ordered = scores[tied].sort(stable=True, dim=-1, descending=True)
        best[tied], places[tied] = ordered.values[:, :count], ordered.indices[:, :count]
    return best, places
