"""Softmax over the vocabulary with the embedding's own matrix (Press and Wolf, 2017)."""

from typing import Literal, final

import torch
from torch import Tensor, nn

from sumpool.core.nn.cross_entropy import cross_entropy
from sumpool.core.nn.layers import TiedProjection
from sumpool.core.nn.masking import pad_id
from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.nn.states import Mixtures
from sumpool.core.output._base import Output, OutputConfig, Scores
from sumpool.core.tokens import Tokens


@final
class TiedOutputConfig(OutputConfig):
    """Settings of the tied softmax."""

    kind: Literal["tied"] = "tied"
    bias: bool = False
    """Add a constant to the logit of every token, as in imported models; -inf removes a token."""

    def build(self, embedding: nn.Embedding) -> "TiedOutput":
        """Build the head."""
        return TiedOutput(embedding, self.bias)


@final
class TiedOutput(Output):
    """Generates from the vocabulary only."""

    bias: Tensor | None

    def __init__(self, embedding: nn.Embedding, bias: bool = False) -> None:
        super().__init__()
        self.embedding = embedding
        self.pad = pad_id(embedding)
        self.vocabulary = TiedProjection(embedding)
        self.register_buffer("bias", torch.zeros(embedding.num_embeddings) if bias else None)

    @property
    def classes(self) -> int:
        """Number of tokens that are not removed."""
        return super().classes if self.bias is None else int((self.bias > -torch.inf).sum())

    def project_source(self, states: Tensor) -> Tensor:
        """Return no features."""
        return states[..., :0]

    def precompute(self, ids: Tensor, source: Tokens, memory: Tokens, mixtures: Mixtures) -> dict[str, Tensor]:
        """Return nothing: the head does not use the source."""
        del ids, source, memory, mixtures
        return {}

    def forward(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Return log-probabilities (batch, target, vocab)."""
        del history, precomputed
        logits = at_least_float32(self.vocabulary(states))
        return (logits if self.bias is None else logits + self.bias).log_softmax(-1)

    def score(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor, smoothing: float = 0.0
    ) -> Scores:
        """Score references (batch, target)."""

        def distribution(part: slice) -> Tensor:
            return self.forward(states[:, part], history[:, part], precomputed)

        nll, log_prob = cross_entropy(states, self.embedding.weight, self.bias, target, self.pad, smoothing)
        return Scores(nll, log_prob, distribution=distribution)
