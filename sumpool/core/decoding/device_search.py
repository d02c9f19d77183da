"""Beam search with hypotheses as tensors, for which the host waits once in `STEPS_BETWEEN_CHECKS` tokens.

It finds the hypotheses of `search_on_host`, bit by bit: sums of log-probabilities in single precision and scores in
double precision, of equal candidates the one with the lower beam, then the lower token id. Documents that have finished
are computed along until the next check, and their hypotheses stay as they are.
"""

from collections.abc import Sequence

import torch

from sumpool.core.decoding.constraints import Rules
from sumpool.core.decoding.device_beams import DeviceBeams
from sumpool.core.decoding.ranking import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.step import STEPS_BETWEEN_CHECKS, StateT, Step, documents_to_keep, feed_prefix
from sumpool.core.nn.numerics import to_device


def search_on_device(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    ranking: Ranking,
    rules: Rules,
    *,
    device: torch.device | str,
) -> list[list[Hypothesis]]:
    """Search the best summaries of a batch of documents; see `sumpool.core.decoding.beam.search`."""
    results: list[list[Hypothesis]] = [[] for _ in lengths]
    first = len(rules.prefix)
    end = max([first, *(bounds.maximum for bounds in lengths)])
    last, state = feed_prefix(step, state, len(lengths) * ranking.beams, rules, device)
    beams = DeviceBeams(lengths, ranking, rules, end + 1, last)
    active = list(range(len(lengths)))
    for length in range(first, end + 1) if active else ():
        log_probs, state = step(last, state)
        rows, last = beams.advance(log_probs.float())
        state = state.reorder(rows)
        if length < end and (length + 1 - first) % STEPS_BETWEEN_CHECKS:
            continue
        keep = documents_to_keep([not is_finished for is_finished in beams.check()], device)
        leaving = sorted(set(range(len(active))) - set(keep))
        for index, hypotheses in zip(leaving, beams.hypotheses(leaving), strict=True):
            results[active[index]] = hypotheses
        if not keep:
            break
        if len(keep) < len(active):
            active = [active[index] for index in keep]
            documents = to_device(keep, last)
            state = state.select(documents)
            last = last.view(-1, ranking.beams).index_select(0, documents).flatten()
            beams.select(documents)
    return results
