"""One optimizer update: forward and backward over the batches, gradient clipping, AdamW."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor, nn

from sumpool.core.output._base import Scores
from sumpool.data.batches import Batch
from sumpool.errors import RecipeError
from sumpool.training.batch_division import BatchDivision
from sumpool.training.config import TrainConfig
from sumpool.training.distillation import Teacher
from sumpool.training.hardware import autocast, choose_precision


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
    """Metrics in transfer from the device; only `read` waits for them."""

    def __init__(self, values: Tensor, names: Sequence[str] = ()) -> None:
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
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        config: TrainConfig,
        device: torch.device,
        teacher: Teacher | None = None,
    ) -> None:
        self.model = model
        self.teacher = teacher
        if teacher:
            teacher.model.to(device)
        self.optimizer = optimizer
        self.config = config
        self.device = device
        self.precision = choose_precision(config.precision, device)
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.division = BatchDivision(config.auto_batch, config.batch_tokens, self._parameters)
        self._nonfinite = torch.zeros((), device=device)

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
        tokens = sum(count_target_tokens(batch) for batch in batches)
        documents = sum(len(batch.documents) for batch in batches)
        totals: dict[str, Tensor] = {}
        for batch in batches:
            accumulate = partial(self._accumulate, tokens=tokens, documents=documents)
            for name, value in self.division.run(batch, accumulate).items():
                totals[name] = totals[name] + value if name in totals else value
        loss, nll, *auxiliary = totals.values()
        norm = nn.utils.clip_grad_norm_(self._parameters, self.config.clip or math.inf).detach()
        if self.config.clip_value:
            nn.utils.clip_grad_value_(self._parameters, self.config.clip_value)
        required = torch.stack([loss, nll, norm.to(loss.dtype)])
        self._nonfinite = torch.maximum(self._nonfinite, 1.0 - required.isfinite().all().float())
        self.optimizer.found_inf = self._nonfinite  # type: ignore[attr-defined] # as torch's own GradScaler does
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return PendingMetrics(torch.stack([*required, *auxiliary]), list(totals)[2:])

    def _accumulate(self, batch: Batch, tokens: int, documents: int) -> dict[str, Tensor]:
        """Accumulate the gradient of a batch; return its part of loss, nll and auxiliary metrics, in this order."""
        batch = to_device(batch, self.device)
        assert batch.target is not None
        with autocast(self.device, self.precision):
            scores, losses, metrics = self.model(
                batch.ids, batch.mask, batch.sentences, batch.target, batch.phrases, self.config.label_smoothing
            )
            fraction = len(batch.documents) / documents
            objective, imitation = self._objective(scores, batch)
            loss = objective / tokens + weighted_sum(losses, self.config.loss_weights) * fraction
        log_prob = scores.log_prob
        del scores  # its distribution holds the decoder's states, which the backward pass frees
        if not loss.requires_grad:
            raise RecipeError(
                f"train.trainable must match weights that a loss depends on, got {', '.join(self.config.trainable)}: "
                f"match more weights, or set the weight of their auxiliary loss in train.loss_weights"
            )
        loss.backward()
        nll = -log_prob.sum() / tokens
        auxiliary = {name: (value * fraction).to(loss.dtype) for name, value in {**losses, **metrics}.items()}
        auxiliary |= {name: (value / tokens).to(loss.dtype) for name, value in imitation.items()}
        return {name: value.detach() for name, value in {"loss": loss, "nll": nll, **auxiliary}.items()}

    def _objective(self, scores: Scores, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of the target tokens, summed, and the divergence from the teacher if there is one."""
        if self.teacher is None:
            return scores.nll, {}
        divergence = self.teacher.divergence(scores, batch)
        return self.teacher.combine(scores.nll, divergence), {"distillation": divergence}


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


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Copy a batch to the device, asynchronously through pinned memory on a GPU."""
    if device.type == "cpu":
        return batch
    parts = {name: getattr(batch, name) for name in ("ids", "mask", "sentences", "target", "phrases")}
    pinned = {name: part.pin_memory() for name, part in parts.items() if part is not None}
    return replace(batch, **pinned).to(device)
