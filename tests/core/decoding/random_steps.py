"""Step functions without a model: every prefix has a random distribution of its own, or a table says what follows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sumpool.special_tokens import BOS, EOS

WORDS = (4, 5, 6, 7)
VOCAB = 8
PIECES = [b"", b"", b"", b"", b" a", b" b", b" c", b"d"]


@dataclass(frozen=True)
class BeamCache:
    """A state that remembers what each row wrote."""

    rows: tuple[tuple[int, ...], ...]
    beams: int

    @classmethod
    def start(cls, documents: Sequence[int], beams: int) -> "BeamCache":
        return cls(tuple((document,) for document in documents for _ in range(beams)), beams)

    def reorder(self, rows: Tensor) -> "BeamCache":
        taken = [self.rows[row] for row in rows.tolist()]
        documents = len(self.rows) // self.beams
        beams = len(taken) // documents
        before, after = self.rows[:: self.beams], taken[::beams]
        assert [row[0] for row in after for _ in range(beams)] == [row[0] for row in taken], "documents are mixed"
        assert [row[0] for row in before] == [row[0] for row in after], "a row left its document"
        return BeamCache(tuple(taken), beams)

    def select(self, documents: Tensor) -> "BeamCache":
        kept = [self.rows[self.beams * place + beam] for place in documents.tolist() for beam in range(self.beams)]
        return BeamCache(tuple(kept), self.beams)


def next_log_probs(written: tuple[int, ...]) -> Tensor:
    """A random model: any prefix (the document's number and its pieces) has its own distribution over the pieces."""
    seed = 0
    for piece in written:
        seed = (seed * 31 + piece + 1) % 2**60
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(VOCAB, generator=generator, dtype=torch.float64)).log_softmax(-1).float()


def step(last: Tensor, state: BeamCache) -> tuple[Tensor, BeamCache]:
    rows = tuple((*row, piece) for row, piece in zip(state.rows, last.tolist(), strict=True))
    return torch.stack([next_log_probs(row) for row in rows]), BeamCache(rows, state.beams)


def probability(document: int, pieces: Sequence[int]) -> float:
    written = (document, BOS, *pieces)
    ended = (*pieces, EOS)
    return math.fsum(float(next_log_probs(written[: place + 2])[piece]) for place, piece in enumerate(ended))


def table(rows: dict[int, dict[int, float]], last: Tensor) -> Tensor:
    """Log-probabilities by last piece and next piece; -50 where nothing is said."""
    log_probs = torch.full((len(last), VOCAB), -50.0)
    for row, piece in enumerate(last.tolist()):
        for following, log_prob in rows.get(piece, {}).items():
            log_probs[row, following] = log_prob
    return log_probs
