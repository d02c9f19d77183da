"""Token and position embeddings."""

from typing import final

from torch import Tensor, nn

from sumpool.core.model.config import ModelConfig, PositionsOfTokens
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.positions import sinusoid


@final
class Embed(nn.Module):
    """Sum of token and position embeddings, with optional layer normalisation."""

    def __init__(
        self, embedding: nn.Embedding, config: ModelConfig, positions: PositionsOfTokens, max_length: int
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.scale = embedding.embedding_dim**0.5 if config.scale_embedding else 1.0
        self.kind = positions
        self.positions = nn.Embedding(max_length, config.dim) if positions == "learned" else None
        self.norm = nn.LayerNorm(config.dim) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        """Embed tokens.

        Args:
            ids: (batch, length).
            mask: (batch, length), True at real tokens.
            positions: (batch, length), counted from 0.

        Returns:
            (batch, length, dim).
        """
        states = zero_padding(self.embedding(ids), mask) * self.scale
        if self.positions is not None:
            states = states + self.positions(positions)
        elif self.kind == "sinusoidal":
            states = states + sinusoid(positions, states.size(-1)).to(states.dtype)
        embedded: Tensor = self.dropout(self.norm(states))
        return embedded
