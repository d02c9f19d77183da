"""Output head interface."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn

from sumpool.core.nn.states import Mixtures
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings

Distribution = Callable[[slice], Tensor]
"""Computes the log-probabilities of all tokens at a range of target tokens, (batch, range, vocab), with gradients."""


class OutputConfig(Settings, ABC):
    """Settings of one output head."""

    kind: str

    @abstractmethod
    def build(self, embedding: nn.Embedding) -> "Output":
        """Build the head; it may share the embedding matrix of the vocabulary."""


@dataclass(frozen=True)
class Scores:
    """Log-probabilities and loss of references.

    Attributes:
        nll: Scalar, cross-entropy summed over the real tokens of all references, in nats; the training loss.
        log_prob: (batch, target), log-probability of each reference token, in nats, without a gradient; 0 at padding.
        losses: Auxiliary losses of the decoder by name, scalars.
        metrics: Detached scalar metrics of the decoder by name.
        counts: Sums over the references by name, such as correct labels; a validation divides them by its tokens.
        distribution: Log-probabilities of all tokens instead of the references, computed on call.
    """

    nll: Tensor
    log_prob: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)
    metrics: dict[str, Tensor] = field(default_factory=dict)
    counts: dict[str, Tensor] = field(default_factory=dict)
    distribution: Distribution | None = None


class Output(nn.Module, ABC):
    """Maps decoder states to log-probabilities over the vocabulary.

    `history` holds the token before each output and the one before that, (batch, target, 2), padding where there is
    none; pointer networks match both with the source.
    """

    embedding: nn.Embedding

    @property
    def classes(self) -> int:
        """Number of tokens that can be generated."""
        return self.embedding.num_embeddings

    @abstractmethod
    def project_source(self, states: Tensor) -> Tensor:
        """Project source states before the first pooling, each by itself.

        Args:
            states: (..., dim), finite everywhere.

        Returns:
            (..., features); zero features where the head does not use the source.
        """

    @abstractmethod
    def precompute(self, ids: Tensor, source: Tokens, memory: Tokens, mixtures: Mixtures) -> dict[str, Tensor]:
        """Compute what the head needs of a document once for all decoding steps.

        Args:
            ids: (batch, length), token ids of the source.
            source: States before the first pooling as `project_source` returns them; finite everywhere.
            memory: Output of the encoder, after every pooling.
            mixtures: Weights of each pooling, first to last.

        Returns:
            Tensors, batch first, shared by all beams of a document.
        """

    @abstractmethod
    def forward(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Return log-probabilities of all tokens: (batch, target, dim) -> (batch, target, vocab)."""

    @abstractmethod
    def score(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor, smoothing: float = 0.0
    ) -> Scores:
        """Return log-probabilities of the references `target` (batch, target), without storing those of all tokens.

        With label smoothing the reference distribution is a mixture of the true token and, with weight `smoothing`, the
        uniform distribution over the vocabulary.
        """

    def copy_posterior(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor
    ) -> Tensor | None:
        """Compute the probability that each reference token is a copy of each source token, given that it was output.

        Returns:
            (batch, target, length), in at least single precision; the rest of 1 is the probability that the token was
            generated from the vocabulary. None for heads that cannot copy, the default.
        """
        del states, history, precomputed, target
        return None
