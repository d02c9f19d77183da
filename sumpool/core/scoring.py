"""Scorers: importance of each vector, (batch, length), by which poolers select."""

from abc import ABC, abstractmethod
from typing import Literal, final

import torch
from pydantic import Field
from torch import Tensor, nn

from sumpool.core.nn.numerics import at_least_float32, hash_uniform, sigmoid
from sumpool.core.tokens import Tokens
from sumpool.settings import VariantSettings


class ScorerConfig(VariantSettings):
    """Settings of one scorer."""

    def build(self, dim: int) -> "Scorer":
        """Build the scorer for states of `dim` features.

        Raises:
            ValueError: If the settings do not suit the number of features.
        """
        scorer: Scorer = self.variant_class(self, dim)
        return scorer


class Scorer(nn.Module, ABC):
    """Importance score of each state, by which poolers select."""

    def __init__(self, config: ScorerConfig, dim: int) -> None:
        super().__init__()
        del dim
        self.config = config

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tensor:
        """Score each token.

        Returns:
            (batch, length), in [0, 1] at real tokens; undefined at padding. Only in training may a scorer draw from
            torch's global generator; in evaluation mode a score depends on the document alone.
        """


@final
class Direction(nn.Linear):
    """Linear layer with one output, in at least single precision.

    A matrix product with one column adds in an order that depends on the number of rows, and so on batch mates.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim, 1)

    def forward(self, states: Tensor) -> Tensor:
        """Map each state: (..., dim) -> (...)."""
        return (at_least_float32(states) * self.weight[0]).sum(-1) + self.bias


@final
class LinearScorerConfig(ScorerConfig):
    """Linear scorer (Pietruszka et al., section 3): the sigmoid of one learned linear map. O(length * dim).

    The sigmoid follows the released code: the paper does not mention it, but the tournament's peaked softmax needs
    bounded scores.
    """

    kind: Literal["linear"] = "linear"


@final
class LinearScorer(Scorer):
    """Score by one learned direction."""

    def __init__(self, config: LinearScorerConfig, dim: int) -> None:
        super().__init__(config, dim)
        self.direction = Direction(dim)

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in (0, 1)."""
        return sigmoid(self.direction(tokens.states))


@final
class NonlinearScorerConfig(ScorerConfig):
    """Nonlinear scorer (Pietruszka et al., appendix A): a tanh hidden layer before the linear map. O(length * dim^2).

    The paper defines S(e) = tanh(e w_1 + b_1) w_2 + b_2 with w_1 a vector, which does not fit w_2; here w_1 is a
    matrix, as in the classification head of RoBERTa (Liu et al., 2019), on which the paper builds. Departures: a
    sigmoid is applied, as in the linear scorer, and there is no dropout.
    """

    kind: Literal["nonlinear"] = "nonlinear"


@final
class NonlinearScorer(Scorer):
    """Score by a network of one hidden layer."""

    def __init__(self, config: NonlinearScorerConfig, dim: int) -> None:
        super().__init__(config, dim)
        self.hidden = nn.Linear(dim, dim)
        self.direction = Direction(dim)

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in (0, 1)."""
        return sigmoid(self.direction(self.hidden(tokens.states).tanh()))


@final
class AttentionMassScorerConfig(ScorerConfig):
    """Attention-mass scorer (Goyal et al., 2020, "PoWER-BERT"; Pietruszka et al., appendix A): attention received.

    The score of a token is m / (1 + m), where m is the attention weight that it receives from all tokens of its
    document in the preceding layer, averaged over the heads. The transform preserves the order and bounds scores to
    [0, 1), as the tournament's peaked softmax requires. No parameters; the attention computes its weights a second
    time. Hard pooling with this scorer is PoWER-BERT's extraction.

    Departures: the paper sums A_ij over j, which is 1 for every row of a softmax; implemented is the column sum that
    its text and PoWER-BERT describe. PoWER-BERT excludes the weight of a token on itself and the paper does not say: a
    setting, which all recipes of PoWER switch off.
    """

    kind: Literal["attention_mass"] = "attention_mass"
    itself: bool = True
    """Whether the attention weight of a token on itself counts; in PoWER-BERT it does not."""


@final
class AttentionMassScorer(Scorer):
    """Score by the attention received in the preceding layer."""

    config: AttentionMassScorerConfig

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in [0, 1); 0.5 for average attention.

        Raises:
            ValueError: If no attention with such weights precedes.
        """
        if tokens.attention_received is None:
            raise ValueError("tokens.attention_received must come from an attention with weights, got None")
        received = at_least_float32(tokens.attention_received(self.config.itself))
        return received / (1 + received)


@final
class CoordinateScorerConfig(ScorerConfig):
    """Coordinate scorer (Pietruszka et al., appendix A, "embedding-based"): one fixed feature of a state is its score.

    Equivalent to a linear scorer with a constant one-hot direction: the preceding layers learn to put the score into
    that feature. No parameters. Departure: a sigmoid is applied, as in the linear scorer.
    """

    kind: Literal["coordinate"] = "coordinate"
    feature: int = Field(0, ge=0, le=8191)
    """Index of the feature used as the score, from 0; below `model.dim`."""


@final
class CoordinateScorer(Scorer):
    """Score by one feature of the state."""

    config: CoordinateScorerConfig

    def __init__(self, config: CoordinateScorerConfig, dim: int) -> None:
        super().__init__(config, dim)
        if config.feature >= dim:
            raise ValueError(
                f"feature must be less than model.dim = {dim}, got {config.feature}; features count from 0"
            )

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in (0, 1)."""
        return sigmoid(tokens.states[..., self.config.feature])


@final
class StridedScorerConfig(ScorerConfig):
    """Strided scorer (Pietruszka et al., appendix A, "index-based"): 1 at every k-th token, 0 at all others.

    Content-independent baseline without parameters. With `every` equal to the pooler's reduction factor exactly the
    tokens at a fixed stride survive, and the preceding attention layers learn to collect their surroundings.
    """

    kind: Literal["strided"] = "strided"
    every: int = Field(4, ge=1, le=10_000_000)
    """Stride: the first of every `every` consecutive tokens scores 1."""


@final
class StridedScorer(Scorer):
    """Score by the index in the document."""

    config: StridedScorerConfig

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length), 0 or 1."""
        return (tokens.indices % self.config.every == 0).to(tokens.states.dtype)


@final
class RandomScorerConfig(ScorerConfig):
    """Random scorer (Pietruszka et al., appendix A): scores drawn from the uniform distribution.

    Baseline for learned scorers, without parameters. In training every forward pass draws from torch's generator. In
    evaluation the score is a hash of the token's index in its document: uniform, but independent of padding, batch
    mates and earlier runs.
    """

    kind: Literal["random"] = "random"


@final
class RandomScorer(Scorer):
    """Score uniformly at random."""

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in [0, 1)."""
        like = at_least_float32(tokens.states[..., 0])
        if self.training:
            return torch.rand_like(like)
        return hash_uniform(tokens.indices).to(like.dtype)
