"""What every cross-attention is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor, nn

from sumpool.core.tokens import Tokens
from sumpool.settings import Settings

StepState = dict[str, Tensor]
"""What a cross-attention keeps from one step of a search to the next, (batch * beams, ...) each."""


@dataclass(frozen=True)
class CrossAttentionOutput:
    """What summaries saw of their documents.

    Attributes:
        states: (batch, target, dim).
        losses: Auxiliary losses by name, scalars, each a mean over the documents; the decoder takes their mean over its
            layers.
        metrics: Signs of health by name, detached scalars; the journal shows them.
    """

    states: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)
    metrics: dict[str, Tensor] = field(default_factory=dict)


class MemoryEncoder(nn.Module):
    """Looks at the memory once for all layers of the decoder; this one has nothing to look for."""

    def forward(self, memory: Tokens) -> dict[str, Tensor]:
        """Give what all layers share, batch first."""
        del memory
        return {}


class CrossAttentionConfig(Settings, ABC):
    """Settings of one cross-attention."""

    kind: str

    @property
    def selection_losses(self) -> tuple[str, ...]:
        """Auxiliary losses that train the setting `selection`; empty without such a setting."""
        return ()

    @abstractmethod
    def build(self, dim: int, heads: int) -> "CrossAttention":
        """Build one layer for vectors of `dim` features."""

    def build_memory_encoder(self, dim: int) -> MemoryEncoder:
        """Build what all layers share."""
        del dim
        return MemoryEncoder()


class CrossAttention(nn.Module, ABC):
    """Lets the summary see the document; owns its projections and what it keeps of the document.

    Attributes:
        has_fixed_shapes: Whether a step works in shapes that follow from those of what it is given, whatever is in it.
    """

    has_fixed_shapes: ClassVar[bool] = True

    @abstractmethod
    def precompute(self, memory: Tokens, shared: dict[str, Tensor]) -> dict[str, Tensor]:
        """Project the document once; each value is batch first and belongs to all beams of a document.

        Args:
            memory: What the encoder left.
            shared: What the reader of the same settings found in it.
        """

    @abstractmethod
    def forward(
        self, queries: Tensor, precomputed: dict[str, Tensor], mask: Tensor | None = None
    ) -> CrossAttentionOutput:
        """Let whole summaries see, as in training.

        Args:
            queries: (batch, target, dim).
            precomputed: What `precompute` returned for these documents.
            mask: (batch, target), True at the real tokens, which alone count in losses and figures; None where all are.
        """

    def step(self, queries: Tensor, precomputed: dict[str, Tensor], held: StepState) -> tuple[Tensor, StepState]:
        """Let the newest token of every hypothesis see; never slower than `forward`, and the same where it is faster.

        Args:
            queries: (batch, beams, dim).
            precomputed: What `precompute` returned for these documents.
            held: What the last step gave, for the same hypotheses; empty at first.

        Returns:
            (batch, beams, dim), and what the next step is to be given.
        """
        return self.forward(queries, precomputed).states, held
