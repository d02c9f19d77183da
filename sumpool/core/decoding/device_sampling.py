"""Sampling with tokens as tensors, for which the host waits once in `STEPS_BETWEEN_CHECKS` tokens.

It draws the samples of `sample_on_host`. Documents whose samples have all ended are computed along until the next
check.
"""

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from sumpool.core.decoding.constraints import Rules
from sumpool.core.decoding.device_rules import DeviceRules
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.decoding.sampling import NAN, draw_tokens
from sumpool.core.decoding.step import STEPS_BETWEEN_CHECKS, StateT, Step, documents_to_keep, feed_prefix
from sumpool.core.nn.numerics import to_device


@final
class _DeviceSamples:
    """Samples of a batch of documents, those of a document side by side, (documents * samples, ...)."""

    def __init__(self, lengths: Sequence[Lengths], samples: int, rules: Rules, room: int, like: Tensor) -> None:
        """Begin with the prefix.

        Args:
            lengths: Length bounds of each document.
            samples: Samples of a document.
            rules: Prefix, constraints and special tokens.
            room: Most tokens of a sample, EOS included.
            like: Integers on the device.
        """
        self._samples = samples
        self._eos = rules.special_tokens.eos
        self._rules = DeviceRules(lengths, rules, samples, room, like)
        self._tokens = like.new_zeros(len(lengths) * samples, room)
        self._counts = like.new_zeros(len(self._tokens))
        self._ended = torch.zeros(len(self._tokens), dtype=torch.bool, device=like.device)
        self._has_nan = torch.zeros((), dtype=torch.bool, device=like.device)
        for token in rules.prefix:
            self._append(torch.full_like(self._counts, token))

    def advance(self, log_probs: Tensor, draws: Tensor, temperature: float) -> Tensor:
        """Draw the next token of every sample, and return the inputs of the model, (documents * samples,).

        Args:
            log_probs: Of the next token, (documents * samples, vocab); overwritten.
            draws: (documents * samples,).
            temperature: Above 0.
        """
        self._rules.forbid(log_probs)
        tokens = draw_tokens(log_probs, draws, temperature, self._eos)
        self._has_nan = self._has_nan | ((tokens == NAN) & ~self._ended).any()
        self._ended = self._ended | (tokens == self._eos)
        tokens = tokens.masked_fill(self._ended | (tokens == NAN), self._eos)
        self._append(tokens)
        return tokens

    def check(self) -> list[bool]:
        """Return of which documents all samples have ended, for which the host waits.

        Raises:
            ValueError: If log-probabilities were NaN.
        """
        has_nan, *finished = torch.cat([self._has_nan[None], self._ended.view(-1, self._samples).all(1)]).tolist()
        if has_nan:
            raise ValueError("step must return log-probabilities, got NaN")
        return finished

    def tokens(self, documents: Sequence[int]) -> list[list[tuple[int, ...]]]:
        """Copy the samples of documents, without EOS."""
        rows = torch.cat([self._tokens, self._counts[:, None]], dim=1).view(-1, self._samples, self._tokens.size(1) + 1)
        copied = rows.index_select(0, to_device(documents, rows, torch.long)).tolist()
        return [[tuple(tokens[:count]) for *tokens, count in document] for document in copied]

    def select(self, documents: Tensor) -> None:
        """Continue with these documents only, (fewer,) indices."""
        rows = (documents[:, None] * self._samples + torch.arange(self._samples, device=documents.device)).flatten()
        self._tokens, self._counts = self._tokens.index_select(0, rows), self._counts.index_select(0, rows)
        self._ended = self._ended.index_select(0, rows)
        self._rules.select(documents, rows)

    def _append(self, tokens: Tensor) -> None:
        self._tokens.index_copy_(1, self._rules.length.view(1), tokens[:, None])
        self._counts = self._counts + (~self._ended).to(self._counts.dtype)
        self._rules.append(torch.arange(len(tokens), device=tokens.device), tokens)


def sample_on_device(
    step: Step[StateT],
    state: StateT,
    lengths: Sequence[Lengths],
    draws: Tensor,
    temperature: float,
    rules: Rules,
) -> list[list[tuple[int, ...]]]:
    """Sample summaries of a batch of documents; see `sumpool.core.decoding.sampling.sample`."""
    results: list[list[tuple[int, ...]]] = [[] for _ in lengths]
    count, first = draws.size(1), len(rules.prefix)
    end = max([first, *(bounds.maximum for bounds in lengths)])
    last, state = feed_prefix(step, state, len(lengths) * count, rules, draws.device)
    samples = _DeviceSamples(lengths, count, rules, end + 1, last)
    active = list(range(len(lengths)))
    for length in range(first, end + 1) if active else ():
        log_probs, state = step(last, state)
        last = samples.advance(log_probs, draws[..., length].flatten(), temperature)
        if length < end and (length + 1 - first) % STEPS_BETWEEN_CHECKS:
            continue
        keep = documents_to_keep([not is_finished for is_finished in samples.check()], draws.device)
        leaving = sorted(set(range(len(active))) - set(keep))
        for index, tokens in zip(leaving, samples.tokens(leaving), strict=True):
            results[active[index]] = tokens
        if not keep:
            break
        if len(keep) < len(active):
            active = [active[index] for index in keep]
            documents = to_device(keep, last)
            state, draws = state.select(documents), draws.index_select(0, documents)
            last = last.view(-1, count).index_select(0, documents).flatten()
            samples.select(documents)
    return results
