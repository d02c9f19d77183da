"""One optimizer update: loss of the batches as parts of that of the update, gradient clipping, AdamW."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sumpool.core.output._base import Scores
from sumpool.data.batches import Batch
from sumpool.errors import RecipeError
from sumpool.training.batch_division import BatchDivision
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import TrainingData, reseed
from sumpool.training.hardware import autocast, choose_precision
from sumpool.training.optimizer import build_optimizer, freeze, moments_of, set_moments
from sumpool.training.weights import set_weights, weights_of

if TYPE_CHECKING:
    from sumpool.training.distillation import Teacher


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
        self, model: nn.Module, config: TrainConfig, precision: torch.dtype, teacher: "Teacher | None" = None
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


@dataclass(frozen=True)
class UpdateMetrics:
    """Metrics of an update.

    Attributes:
        loss: Training objective per target token, label smoothing and auxiliary losses included.
        nll: Negative log-likelihood of the references, nats per target token.
        gradient_norm: Norm of the gradient before clipping.
        auxiliary: Auxiliary losses and metrics of the model by name, means over the documents.
    """

    loss: float
    nll: float
    gradient_norm: float
    auxiliary: dict[str, float] = field(default_factory=dict)

    def are_finite(self) -> bool:
        """Return whether loss and gradient were finite, so that the update was made."""
        return all(math.isfinite(value) for value in (self.loss, self.nll, self.gradient_norm))


class PendingMetrics:
    """Metrics in transfer from the device; only `read` waits for them.

    Attributes:
        size: Size of the update.
    """

    def __init__(self, values: Tensor, names: Sequence[str], size: UpdateSize) -> None:
        self.size = size
        self._names = names
        self._values = values.to("cpu", non_blocking=True)
        self._event = torch.cuda.Event() if values.is_cuda else None
        if self._event:
            self._event.record()

    def read(self) -> UpdateMetrics:
        """Wait for the metrics."""
        if self._event:
            self._event.synchronize()
        loss, nll, gradient_norm, *auxiliary = self._values.tolist()
        return UpdateMetrics(loss, nll, gradient_norm, dict(zip(self._names, auxiliary, strict=True)))


class Updater:
    """Update the weights of a model, unless a loss or a gradient is not finite.

    After the first non-finite loss or gradient this and all further updates leave weights and moments unchanged. The
    device decides this without synchronisation, so that the host may read the metrics later.

    Attributes:
        optimizer: AdamW for the trainable parameters.
        division: Division of batches that memory cannot hold.
        imbalance: Imbalance of tokens between processes in the last update; None for one process.
    """

    imbalance: float | None = None

    def __init__(
        self, model: nn.Module, config: TrainConfig, device: torch.device, teacher: "Teacher | None" = None
    ) -> None:
        """Freeze the parameters that are not trained, and build the optimizer.

        Raises:
            RecipeError: If a pattern of `config.trainable` matches no parameter.
        """
        self.model = model
        self.teacher = teacher
        if teacher:
            teacher.model.to(device)
        self.config = config
        self.device = device
        self.precision = choose_precision(config.precision, device)
        self._nonfinite = torch.zeros((), device=device)
        freeze(model, config.trainable)
        self._objective = Objective(model, config, self.precision, teacher)
        self._distribute()
        self.optimizer = build_optimizer(model, config)
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.division = BatchDivision(config.auto_batch, config.batch_tokens, self._parameters)

    def batches(self, data: TrainingData, indices: Sequence[Sequence[int]], step: int) -> list[Batch]:
        """Seed the random numbers of a step and collate its batches, given the documents of each."""
        reseed(data.seed, step)
        return [data.batch(data.training, batch) for batch in indices]

    def update(self, batches: Sequence[Batch], rate: float) -> PendingMetrics:
        """Make one update from several batches, with the loss normalised over the target tokens of all of them.

        Args:
            batches: At least one batch, with targets.
            rate: Learning rate.

        Raises:
            RecipeError: If no loss depends on a trainable parameter.
            ResourceError: If memory runs out.
        """
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        size = self._size_of(batches)
        totals: dict[str, Tensor] = {}
        for number, batch in enumerate(batches, 1):
            work = partial(self._accumulate, size=size, is_last=number == len(batches))
            for name, value in self.division.run(batch, work).items():
                totals[name] = totals[name] + value if name in totals else value
        loss, nll, *auxiliary = self._sum(list(totals.values()))
        norm = self._clip_norm()
        if self.config.clip_value:
            nn.utils.clip_grad_value_(self._parameters, self.config.clip_value)
        required = torch.stack([loss, nll, norm.to(loss.dtype)])
        self._nonfinite = torch.maximum(self._nonfinite, 1.0 - required.isfinite().all().float())
        self.optimizer.found_inf = self._nonfinite  # type: ignore[attr-defined] # as torch's own GradScaler does
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return PendingMetrics(torch.stack([*required, *auxiliary]), list(totals)[2:], size)

    def weights(self) -> dict[str, Tensor]:
        """Return the weights by name, in process 0."""
        return weights_of(self.model)

    def moments(self) -> dict[str, Tensor]:
        """Return the moments of the optimizer by name, in process 0."""
        return moments_of(self.optimizer, self.model)

    def load_state(self, weights: Mapping[str, Tensor], moments: Mapping[str, Tensor], origin: str) -> None:
        """Load weights and moments of a checkpoint.

        Args:
            weights: Weights by name.
            moments: Moments by name.
            origin: Their source, for the error.

        Raises:
            CheckpointError: If they are those of another model.
        """
        set_weights(self.model, weights, origin)
        set_moments(self.optimizer, self.model, moments)

    def whole_weights(self) -> AbstractContextManager[None]:
        """Return a context within which the model may be called for validation."""
        return nullcontext()

    # What `ParallelUpdater` does in another way:

    def _distribute(self) -> None:
        """Distribute the model over processes."""

    def _size_of(self, batches: Sequence[Batch]) -> UpdateSize:
        return UpdateSize.of(batches)

    def _accumulate(self, batch: Batch, size: UpdateSize, *, is_last: bool) -> dict[str, Tensor]:
        """Accumulate the gradient of a batch; return its part of loss, nll and auxiliary metrics, in this order."""
        del is_last  # after which processes exchange gradients
        loss, parts = self._objective(to_device(batch, self.device), size)
        loss.backward()
        return {name: value.detach() for name, value in {"loss": loss, **parts}.items()}

    def _sum(self, totals: list[Tensor]) -> Sequence[Tensor]:
        return totals

    def _clip_norm(self) -> Tensor:
        """Clip the norm of the gradient; return that before."""
        return nn.utils.clip_grad_norm_(self._parameters, self.config.clip or math.inf).detach()


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Copy a batch to the device; on a CPU it stays where it is."""
    return batch if device.type == "cpu" else batch.to(device)
