"""What training makes small beside the surprise at the reference summary: auxiliary losses, by their weights."""

from collections.abc import Mapping

from torch import Tensor

from sumpool.errors import RecipeError


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
