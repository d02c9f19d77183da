"""The product of a state with the vector of every piece."""

from typing import final

from torch import Tensor, nn
from torch.nn import functional as F


@final
class TiedProjection(nn.Module):
    """A linear map whose weights are the vectors of an embedding: (..., dim) -> (..., vocab)."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding

    def forward(self, states: Tensor) -> Tensor:
        """Compare states with every piece."""
        return F.linear(states, self.embedding.weight)
