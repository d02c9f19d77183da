"""Attention mass (Goyal et al., 2020, "PoWER-BERT"; Pietruszka et al., appendix A): a vector is worth what it gets.

The attention that all vectors of the document pay to one of them in the layer before, averaged over the heads, is its
mass m; m / (1 + m) brings it into [0, 1) and keeps the order, for a tournament's peaks need bounded scores. No
parameters; the cost is that of the attention's weights once more. Hard pooling with this scorer is PoWER.

Departures: the paper sums A_ij over j, which is 1 for every row of a softmax; the column's sum that its text and
PoWER-BERT mean is taken. PoWER-BERT leaves out what a vector pays to itself and the paper does not say: a setting.
"""

from typing import Literal, final

from torch import Tensor

from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class AttentionMassScorerConfig(ScorerConfig):
    """Settings of the attention mass."""

    kind: Literal["attention_mass"] = "attention_mass"
    itself: bool = True
    """Whether the attention that a vector pays to itself counts; PoWER-BERT's does not."""

    def build(self, dim: int) -> "AttentionMassScorer":
        """Build the scorer."""
        del dim
        return AttentionMassScorer(self.itself)


@final
class AttentionMassScorer(Scorer):
    """Scores a vector by the attention that it got."""

    def __init__(self, itself: bool) -> None:
        super().__init__()
        self.itself = itself

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length, dim) as (batch, length), in [0, 1); .5 where a vector got its fair share.

        Raises:
            ValueError: No attention comes before.
        """
        if tokens.attention_received is None:
            raise ValueError("tokens.received must come from an attention layer, got None; score after such a layer")
        attention_received = at_least_float32(tokens.attention_received(self.itself))
        return attention_received / (1 + attention_received)
