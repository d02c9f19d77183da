"""Softmax over the vocabulary with the embedding's own matrix (Press and Wolf, 2017)."""

from typing import Literal, final

from torch import Tensor, nn
from torch.nn import functional as F

from sumpool.core.nn.mixture import Mixtures
from sumpool.core.nn.precision import at_least_float32
from sumpool.core.output._base import Output, OutputConfig, Scores
from sumpool.core.tokens import Tokens


@final
class TiedConfig(OutputConfig):
    """No settings."""

    kind: Literal["tied"] = "tied"

    def build(self, embedding: nn.Embedding) -> "TiedOutput":
        """Build the head."""
        return TiedOutput(embedding)


@final
class TiedOutput(Output):
    """Writes from the vocabulary alone."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding

    def remember(self, ids: Tensor, source: Tokens, memory: Tokens, mixtures: Mixtures) -> dict[str, Tensor]:
        """Keep nothing: this head does not look at the source."""
        del ids, source, memory, mixtures
        return {}

    def forward(self, states: Tensor, history: Tensor, remembered: dict[str, Tensor]) -> Tensor:
        """Give log-probabilities (batch, target, vocab)."""
        del history, remembered
        return at_least_float32(F.linear(states, self.embedding.weight)).log_softmax(-1)

    def score(self, states: Tensor, history: Tensor, remembered: dict[str, Tensor], target: Tensor) -> Scores:
        """Score the reference (batch, target)."""
        log_probs = self(states, history, remembered)
        return Scores(log_probs.gather(-1, target[..., None]).squeeze(-1), log_probs.mean(-1))
