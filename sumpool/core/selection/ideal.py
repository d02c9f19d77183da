"""The sentences that full attention would give most (Manakul and Gales, 2021, Equations 4 and 6).

Scores every word, so that it saves nothing: the bound that other selections are measured by.
"""

from typing import Literal, final

from torch import Tensor

from sumpool.core.nn.sentences import Sentences, share_words
from sumpool.core.selection._base import Selection, SelectionConfig


@final
class IdealSelectionConfig(SelectionConfig):
    """No settings."""

    kind: Literal["ideal"] = "ideal"

    def build(self, dim: int, heads: int) -> "IdealSelection":
        """Build it."""
        del dim, heads
        return IdealSelection()


@final
class IdealSelection(Selection):
    """Sums full attention over the words of each sentence."""

    def precompute(self, key: Tensor, mask: Tensor, sentences: Sentences, vectors: Tensor | None) -> dict[str, Tensor]:
        """Keep the keys, and which words belong to which sentence."""
        del vectors
        return {"key": key, "mask": mask, "membership": sentences.membership(mask, key.dtype)}

    def forward(self, states: Tensor, query: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Share out; see `Selection.forward`."""
        del states
        scores = query @ precomputed["key"].transpose(2, 3) / query.size(-1) ** 0.5
        return share_words(scores, precomputed["mask"], precomputed["membership"])
