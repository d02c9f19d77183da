"""What every output head is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from torch import Tensor, nn

from sumpool.core.nn.mixture import Mixtures
from sumpool.core.tokens import Tokens
from sumpool.settings import Settings


class OutputConfig(Settings, ABC):
    """Settings of one output head."""

    kind: str

    @abstractmethod
    def build(self, embedding: nn.Embedding) -> "Output":
        """Build the head beside the vocabulary's embedding, which it may share."""


@dataclass(frozen=True)
class Scores:
    """How well the reference was foreseen.

    Attributes:
        nll: Scalar, the cross-entropy summed over the real tokens of all references, in nats; what is learnt from.
        log_prob: (batch, target), log-probability of each reference token, in nats, without a gradient; 0 at padding.
        losses: Auxiliary losses of the decoder by name, scalars.
        metrics: Signs of health of the decoder by name, detached scalars.
    """

    nll: Tensor
    log_prob: Tensor
    losses: dict[str, Tensor] = field(default_factory=dict)
    metrics: dict[str, Tensor] = field(default_factory=dict)


class Output(nn.Module, ABC):
    """Turns decoder states into words.

    `history` holds the token before each output and the one before that, (batch, target, 2), padding where there is
    none; a head that copies looks for them in the source.
    """

    @abstractmethod
    def see(self, states: Tensor) -> Tensor:
        """Take what is needed of source vectors before the first pooling, each by itself.

        Args:
            states: (..., dim), finite everywhere.

        Returns:
            (..., features); no features where nothing is needed.
        """

    @abstractmethod
    def precompute(self, ids: Tensor, source: Tokens, memory: Tokens, mixtures: Mixtures) -> dict[str, Tensor]:
        """Keep what may be copied.

        Args:
            ids: (batch, length), the source.
            source: What `see` took of the source's vectors, before the first pooling; finite everywhere.
            memory: The vectors that cross-attention sees, after every pooling.
            mixtures: What each pooling, first to last, made of the vectors before it.

        Returns:
            Tensors, batch first, shared by all beams of a document.
        """

    @abstractmethod
    def forward(self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor]) -> Tensor:
        """Give every piece of the vocabulary its log-probability: (batch, target, dim) -> (batch, target, vocab)."""

    @abstractmethod
    def score(
        self, states: Tensor, history: Tensor, precomputed: dict[str, Tensor], target: Tensor, smoothing: float = 0.0
    ) -> Scores:
        """Give the reference `target` (batch, target) its log-probabilities, and never hold all the others'.

        With label smoothing the reference is a mixture of the true token and, with that weight, the uniform
        distribution over the vocabulary.
        """
