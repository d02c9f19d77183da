"""Training objective of a batch, as a part of that of an update, and the size of an update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sumpool.core.output._base import Scores
from sumpool.data.batches import Batch
from sumpool.errors import RecipeError
from sumpool.training.config import TrainConfig
from sumpool.training.distillation import Teacher
from sumpool.training.hardware import autocast


@dataclass(frozen=True)
class UpdateSize:
    """Size of an update, over all its batches and processes.

    Attributes:
        target_tokens: Target tokens, over which the loss is normalised.
        documents: Documents, over which auxiliary losses are means.
        source_tokens: Source tokens without padding.
    """

    target_tokens: float
    documents: float
    source_tokens: float = 0

    @classmethod
    def of(cls, batches: Sequence[Batch]) -> "UpdateSize":
        """Return the size of batches."""
        return cls(
            target_tokens=sum(count_target_tokens(batch) for batch in batches),
            documents=sum(len(batch.documents) for batch in batches),
            source_tokens=sum(int(batch.mask.sum()) for batch in batches),
        )


class Objective(nn.Module):
    """Loss of a model as a part of that of an update.

    Args:
        model: The model.
        config: Settings of training.
        precision: Type of matrix products.
        teacher: Model whose token distributions the training imitates.
    """

    def __init__(
        self, model: nn.Module, config: TrainConfig, precision: torch.dtype, teacher: Teacher | None = None
    ) -> None:
        super().__init__()
        self.model = model
        self._config = config
        self._precision = precision
        self._teacher = teacher

    def forward(self, batch: Batch, size: UpdateSize) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss, and nll and auxiliary metrics without gradients.

        Args:
            batch: Batch on the device of the model, with targets.
            size: Size of the update.

        Raises:
            RecipeError: If the loss depends on no trainable parameter.
        """
        assert batch.target is not None
        with autocast(batch.ids.device, self._precision):
            documents = (batch.ids, batch.mask, batch.sentences, batch.target, batch.phrases)
            scores, losses, metrics = self.model(*documents, self._config.label_smoothing, lengths=batch.lengths)
            fraction = len(batch.documents) / size.documents
            objective, imitation = self._imitate(scores, batch)
            loss = objective / size.target_tokens + weighted_sum(losses, self._config.loss_weights) * fraction
        log_prob = scores.log_prob
        del scores  # its distribution holds the decoder's states, which the backward pass frees
        if not loss.requires_grad:
            raise RecipeError(
                f"train.trainable must match weights that a loss depends on, got {', '.join(self._config.trainable)}: "
                f"match more weights, or set the weight of their auxiliary loss in train.loss_weights"
            )
        nll = -log_prob.sum() / size.target_tokens
        auxiliary = {name: (value * fraction).to(loss.dtype) for name, value in {**losses, **metrics}.items()}
        auxiliary |= {name: (value / size.target_tokens).to(loss.dtype) for name, value in imitation.items()}
        return loss, {name: value.detach() for name, value in {"nll": nll, **auxiliary}.items()}

    def _imitate(self, scores: Scores, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of the target tokens, summed, and the divergence from the teacher if there is one."""
        if self._teacher is None:
            return scores.nll, {}
        divergence = self._teacher.divergence(scores, batch)
        return self._teacher.combine(scores.nll, divergence), {"distillation": divergence}


def weighted_sum(losses: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor | float:
    """Sum of auxiliary losses by their weights; a loss without a weight has weight 0.

    Args:
        losses: Scalars by name, each a mean over the documents of a batch.
        weights: `train.loss_weights`.

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


def count_target_tokens(batch: Batch) -> int:
    """Number of target tokens of a batch, without padding."""
    assert batch.target is not None, "a training batch has targets"
    return int((batch.target != batch.pad).sum())
