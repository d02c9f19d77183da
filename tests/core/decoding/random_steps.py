"""Step functions without a model: a random distribution for every prefix, or a table of continuations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sumpool.special_tokens import BOS, EOS

WORDS = (4, 5, 6, 7)
VOCAB = 8


@dataclass(frozen=True)
class PrefixState:
    """State that stores the tokens of each row."""

    rows: tuple[tuple[int, ...], ...]
    beams: int

    @classmethod
    def start(cls, documents: Sequence[int], beams: int) -> "PrefixState":
        return cls(tuple((document,) for document in documents for _ in range(beams)), beams)

    def reorder(self, rows: Tensor) -> "PrefixState":
        reordered = [self.rows[row] for row in rows.tolist()]
        documents = len(self.rows) // self.beams
        beams = len(reordered) // documents
        before, after = self.rows[:: self.beams], reordered[::beams]
        assert [row[0] for row in after for _ in range(beams)] == [row[0] for row in reordered], "documents are mixed"
        assert [row[0] for row in before] == [row[0] for row in after], "a row left its document"
        return PrefixState(tuple(reordered), beams)

    def select(self, documents: Tensor) -> "PrefixState":
        rows = [self.rows[self.beams * index + beam] for index in documents.tolist() for beam in range(self.beams)]
        return PrefixState(tuple(rows), self.beams)


def next_log_probs(prefix: tuple[int, ...], vocab: int = VOCAB) -> Tensor:
    """A random model: a distribution over the tokens for every prefix (the document's number, then tokens)."""
    seed = 0
    for token in prefix:
        seed = (seed * 31 + token + 1) % 2**60
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(vocab, generator=generator, dtype=torch.float64)).log_softmax(-1).float()


def step(last: Tensor, state: PrefixState, vocab: int = VOCAB) -> tuple[Tensor, PrefixState]:
    rows = tuple((*row, token) for row, token in zip(state.rows, last.tolist(), strict=True))
    return torch.stack([next_log_probs(row, vocab) for row in rows]), PrefixState(rows, state.beams)


def log_probability(document: int, tokens: Sequence[int]) -> float:
    prefix = (document, BOS, *tokens)
    targets = (*tokens, EOS)
    return math.fsum(float(next_log_probs(prefix[: index + 2])[token]) for index, token in enumerate(targets))


def table(rows: dict[int, dict[int, float]], last: Tensor) -> Tensor:
    """Log-probabilities by last token and next token; -50 elsewhere."""
    log_probs = torch.full((len(last), VOCAB), -50.0)
    for row, token in enumerate(last.tolist()):
        for following, log_prob in rows.get(token, {}).items():
            log_probs[row, following] = log_prob
    return log_probs
