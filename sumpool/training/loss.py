"""What training makes small: the surprise at the reference summary, with label smoothing and auxiliary losses."""

from collections.abc import Mapping

from torch import Tensor

from sumpool.core.nn.precision import at_least_float32
from sumpool.core.output._base import Scores
from sumpool.errors import RecipeError
from sumpool.pieces import PAD


def surprise(scores: Scores, target: Tensor, smoothing: float = 0.0) -> Tensor:
    """Sum the cross-entropy over the real tokens of a target.

    With label smoothing the reference is a mixture of the true token and the uniform distribution over the vocabulary.

    Args:
        scores: Log-probabilities, each (batch, target).
        target: (batch, target), padding after the end.
        smoothing: Weight of the uniform distribution, in [0, 1).

    Returns:
        A scalar in nats, in at least single precision.
    """
    log_prob = scores.log_prob
    if smoothing:
        log_prob = (1 - smoothing) * log_prob + smoothing * scores.uniform
    return -at_least_float32(log_prob).masked_fill(target == PAD, 0.0).sum()


def weigh(losses: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor | float:
    """Sum auxiliary losses by their weights; a loss without a weight counts nothing.

    Args:
        losses: Scalars by name, each a mean over the documents of a batch.
        weights: The recipe's `train.loss_weights`.

    Raises:
        RecipeError: If a weight names a loss that the model does not have.
    """
    unknown = sorted(weights.keys() - losses.keys())
    if unknown:
        raise RecipeError(
            f"train.loss_weights must name losses of the model ({', '.join(sorted(losses)) or 'it has none'}), "
            f"got {', '.join(unknown)}"
        )
    return sum((weight * losses[name] for name, weight in weights.items()), start=0.0)
