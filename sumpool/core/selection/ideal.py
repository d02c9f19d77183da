"""Sentences with the largest full attention weights (Manakul and Gales, 2021, Equations 4 and 6).

Scores every word and therefore saves no time: the upper bound for other selections.
"""

from typing import Literal, final

from torch import Tensor

from sumpool.core.nn.sentences import Sentences, sum_over_sentences
from sumpool.core.selection._base import Selection, SelectionConfig


@final
class IdealSelectionConfig(SelectionConfig):
    """No settings."""

    kind: Literal["ideal"] = "ideal"

    def build(self, dim: int, heads: int) -> "IdealSelection":
        """Build the selection."""
        del dim, heads
        return IdealSelection()


@final
class IdealSelection(Selection):
    """Full attention weights summed over the words of each sentence."""

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Keep the keys and the sentence of each word."""
        del vectors
        return {"key": key, "mask": mask, "membership": sentences.membership(mask, key.dtype)}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Compute log-weights of the sentences."""
        del states
        scores = query @ precomputed["key"].transpose(2, 3) / query.size(-1) ** 0.5
        return sum_over_sentences(scores, precomputed["mask"], precomputed["membership"])
