"""One optimizer update: forward and backward over the batches, gradient clipping, AdamW."""

import math
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from sumpool.data.batches import Batch
from sumpool.errors import RecipeError
from sumpool.training.batch_division import BatchDivision
from sumpool.training.config import TrainConfig
from sumpool.training.distillation import Teacher
from sumpool.training.distributed import current_processes
from sumpool.training.hardware import choose_precision
from sumpool.training.objective import Objective, UpdateSize
from sumpool.training.optimizer import build_optimizer
from sumpool.training.sharded_tensors import whole_tensor
from sumpool.training.sharding import Sharding, is_sharded
from sumpool.training.trainable import freeze


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

    Several processes compute the gradient of the loss over the batches of all of them: gradients are reduced once per
    update, during the last backward pass, by DistributedDataParallel or by FSDP2.

    Attributes:
        optimizer: AdamW for the trainable parameters.
    """

    def __init__(
        self, model: nn.Module, config: TrainConfig, device: torch.device, teacher: Teacher | None = None
    ) -> None:
        """Freeze the parameters that are not trained, distribute the model over processes, and build the optimizer.

        Raises:
            RecipeError: If a pattern of `config.trainable` matches no parameter, or batches are divided in several
                processes.
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
        self._processes = processes = current_processes()
        self._replica: nn.parallel.DistributedDataParallel | None = None
        self._sharding: Sharding | None = None
        if processes.size > 1:
            _refuse_division(config)
            if is_sharded(config, model, device, processes):
                self._sharding = Sharding(self._objective, device, processes)
            else:
                self._replica = _replicate(self._objective)
        self.optimizer = build_optimizer(model, config)
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.division = BatchDivision(config.auto_batch, config.batch_tokens, self._parameters)

    def update(
        self, batches: Sequence[Batch], rate: float, size: UpdateSize | None = None, *, is_idle: bool = False
    ) -> PendingMetrics:
        """Make one update from several batches, with the loss normalised over the target tokens of all of them.

        Args:
            batches: At least one batch, with targets.
            rate: Learning rate.
            size: Size of the update; that of the batches by default.
            is_idle: Whether the batches have no weight, in a process without documents.

        Raises:
            RecipeError: If no loss depends on a trainable parameter.
            ResourceError: If memory runs out.
        """
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        size = size or UpdateSize.of(batches)
        weighted = UpdateSize(math.inf, math.inf) if is_idle else size
        totals: dict[str, Tensor] = {}
        for number, batch in enumerate(batches, 1):
            parts = self.division.run(batch, partial(self._accumulate, size=weighted, is_last=number == len(batches)))
            for name, value in parts.items():
                totals[name] = totals[name] + value if name in totals else value
        if self._processes.size > 1:
            totals = dict(zip(totals, self._processes.sum(torch.stack(list(totals.values()))), strict=True))
        loss, nll, *auxiliary = totals.values()
        norm = whole_tensor(nn.utils.clip_grad_norm_(self._parameters, self.config.clip or math.inf).detach())
        if self.config.clip_value:
            nn.utils.clip_grad_value_(self._parameters, self.config.clip_value)
        required = torch.stack([loss, nll, norm.to(loss.dtype)])
        self._nonfinite = torch.maximum(self._nonfinite, 1.0 - required.isfinite().all().float())
        self.optimizer.found_inf = self._nonfinite  # type: ignore[attr-defined] # as torch's own GradScaler does
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return PendingMetrics(torch.stack([*required, *auxiliary]), list(totals)[2:])

    def whole_weights(self) -> AbstractContextManager[None]:
        """Return a context within which the model may be called for validation; sharded weights are gathered in it."""
        return self._sharding.whole() if self._sharding else nullcontext()

    def _accumulate(self, batch: Batch, size: UpdateSize, *, is_last: bool) -> dict[str, Tensor]:
        """Accumulate the gradient of a batch; return its part of loss, nll and auxiliary metrics, in this order."""
        batch = to_device(batch, self.device)
        with self._replica.no_sync() if self._replica and not is_last else nullcontext():
            loss, parts = (self._replica or self._objective)(batch, size)
            total = loss * self._processes.size  # of which gradients are averaged over the processes
            if self._sharding:
                self._sharding.backward(total, is_last=is_last)
            else:
                total.backward()
        return {name: value.detach() for name, value in {"loss": loss, **parts}.items()}


def _refuse_division(config: TrainConfig) -> None:
    """Refuse to divide batches in a training of several processes.

    Raises:
        RecipeError: If batches are divided, which the other processes would not know.
    """
    if config.auto_batch:
        raise RecipeError(
            "train.auto_batch must be false in a training of several processes, got true: lower train.batch_tokens and "
            "raise train.accumulate"
        )


def _replicate(objective: Objective) -> nn.parallel.DistributedDataParallel:
    """Replicate an objective over the processes, with the weights of process 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch 2.13 renames broadcast_buffers
        # Losses of weight 0 leave parameters without gradients.
        return nn.parallel.DistributedDataParallel(
            objective, broadcast_buffers=False, find_unused_parameters=True, gradient_as_bucket_view=True
        )


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Copy a batch to the device; on a CPU it stays where it is."""
    return batch if device.type == "cpu" else batch.to(device)
