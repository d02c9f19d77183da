"""Attention-mass scorer (Goyal et al., 2020, "PoWER-BERT"; Pietruszka et al., appendix A): attention received.

The score of a token is m / (1 + m), where m is the attention weight that it receives from all tokens of its document
in the preceding layer, averaged over the heads. The transform preserves the order and bounds scores to [0, 1), as the
tournament's peaked softmax requires. No parameters; the attention computes its weights a second time.
Hard pooling with this scorer is PoWER-BERT's extraction.

Departures: the paper sums A_ij over j, which is 1 for every row of a softmax; implemented is the column sum that its
text and PoWER-BERT describe. PoWER-BERT excludes the weight of a token on itself and the paper does not say: a setting,
which all recipes of PoWER switch off.
"""

from typing import Literal, final

from torch import Tensor

from sumpool.core.nn.numerics import at_least_float32
from sumpool.core.scoring._base import Scorer, ScorerConfig
from sumpool.core.tokens import Tokens


@final
class AttentionMassScorerConfig(ScorerConfig):
    """Settings of the attention-mass scorer."""

    kind: Literal["attention_mass"] = "attention_mass"
    itself: bool = True
    """Whether the attention weight of a token on itself counts; in PoWER-BERT it does not."""

    def build(self, dim: int) -> "AttentionMassScorer":
        """Build the scorer."""
        del dim
        return AttentionMassScorer(self.itself)


@final
class AttentionMassScorer(Scorer):
    """Score by the attention received in the preceding layer."""

    def __init__(self, include_self: bool) -> None:
        super().__init__()
        self.include_self = include_self

    def forward(self, tokens: Tokens) -> Tensor:
        """Score (batch, length) in [0, 1); 0.5 for average attention.

        Raises:
            ValueError: If no attention with such weights precedes.
        """
        if tokens.attention_received is None:
            raise ValueError("tokens.attention_received must come from an attention with weights, got None")
        received = at_least_float32(tokens.attention_received(self.include_self))
        return received / (1 + received)
