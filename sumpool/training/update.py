"""One update of the weights: forward and backward over some batches, clipping, AdamW."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from sumpool.data.batches import Batch
from sumpool.errors import RecipeError, ResourceError, is_out_of_memory
from sumpool.training.config import TrainConfig
from sumpool.training.hardware import autocast, choose_precision
from sumpool.training.loss import weigh


@dataclass(frozen=True)
class UpdateMetrics:
    """What an update was like.

    Attributes:
        loss: What was made smaller, per target token: label smoothing and auxiliary losses included.
        nats: Surprise at the references, nats per target token.
        norm: Norm of the gradient before clipping.
        health: Auxiliary losses and signs of health by name, means over the documents.
    """

    loss: float
    nats: float
    norm: float
    health: dict[str, float] = field(default_factory=dict)

    def are_finite(self) -> bool:
        """Whether the update was made at all."""
        return all(math.isfinite(value) for value in (self.loss, self.nats, self.norm))


class PendingMetrics:
    """Figures on their way from the device; nobody waits for them until they are read."""

    def __init__(self, values: Tensor, health: Sequence[str] = ()) -> None:
        self._health = health
        self._values = values.to("cpu", non_blocking=True)
        self._event = torch.cuda.Event() if values.is_cuda else None
        if self._event:
            self._event.record()

    def read(self) -> UpdateMetrics:
        """Wait for the figures."""
        if self._event:
            self._event.synchronize()
        loss, nats, norm, *health = self._values.tolist()
        return UpdateMetrics(loss, nats, norm, dict(zip(self._health, health, strict=True)))


class Updater:
    """Updates a model, and never with anything that is not finite.

    Once a loss or a gradient is not finite, this and all further updates leave weights and moments as they are. The
    device decides that by itself, so that the host may look at the figures later.
    """

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, config: TrainConfig, device: torch.device
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.config = config
        self.device = device
        self.precision = choose_precision(config.precision, device)
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._broken = torch.zeros((), device=device)

    def update(self, batches: Sequence[Batch], rate: float) -> PendingMetrics:
        """Make one update from batches as if they were one: the loss is normalised over all their target tokens.

        Args:
            batches: At least one, with targets.
            rate: Learning rate.

        Raises:
            RecipeError: If no loss depends on what learns.
            ResourceError: If memory runs out.
        """
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        tokens = sum(count_target_tokens(batch) for batch in batches)
        documents = sum(len(batch.documents) for batch in batches)
        totals: dict[str, Tensor] = {}
        for batch in batches:
            with enough_memory(batch, self.config.batch_tokens):
                for name, figure in self._accumulate(batch, tokens, documents).items():
                    totals[name] = totals[name] + figure if name in totals else figure
        loss, nats, *health = totals.values()
        norm = nn.utils.clip_grad_norm_(self._parameters, self.config.clip or math.inf).detach()
        decisive = torch.stack([loss, nats, norm.to(loss.dtype)])
        self._broken = torch.maximum(self._broken, 1.0 - decisive.isfinite().all().float())
        self.optimizer.found_inf = self._broken  # type: ignore[attr-defined] # as torch's own GradScaler does
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return PendingMetrics(torch.stack([*decisive, *health]), list(totals)[2:])

    def _accumulate(self, batch: Batch, tokens: int, documents: int) -> dict[str, Tensor]:
        """Add the gradient of one batch; give its share of loss, nats and health by name, in this order."""
        batch = to_device(batch, self.device)
        assert batch.target is not None
        with autocast(self.device, self.precision):
            scores, losses, metrics = self.model(
                batch.ids, batch.mask, batch.sentences, batch.target, batch.phrases, self.config.label_smoothing
            )
            share = len(batch.documents) / documents
            loss = scores.nll / tokens + weigh(losses, self.config.loss_weights) * share
        if not loss.requires_grad:
            raise RecipeError(
                f"train.trainable must match weights that a loss depends on, got {', '.join(self.config.trainable)}: "
                f"match more of them, or give the loss that reaches these a weight in train.loss_weights"
            )
        loss.backward()
        nats = -scores.log_prob.sum() / tokens
        health = {name: (figure * share).to(loss.dtype) for name, figure in {**losses, **metrics}.items()}
        return {name: figure.detach() for name, figure in {"loss": loss, "nats": nats, **health}.items()}


def count_target_tokens(batch: Batch) -> int:
    """Count the real target tokens of a batch."""
    assert batch.target is not None, "training needs summaries"
    return int((batch.target != batch.pad).sum())


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Send a batch to the device, without waiting where that is possible."""
    if device.type == "cpu":
        return batch
    parts = {name: getattr(batch, name) for name in ("ids", "mask", "sentences", "target", "phrases")}
    pinned = {name: part.pin_memory() for name, part in parts.items() if part is not None}
    return replace(batch, **pinned).to(device)


@contextmanager
def enough_memory(batch: Batch, batch_tokens: int) -> Iterator[None]:
    """Turn running out of memory into a sentence that names the batch and what would help.

    Raises:
        ResourceError: If the block runs out of memory.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        documents, length = batch.ids.shape
        target = 0 if batch.target is None else batch.target.size(1)
        raise ResourceError(
            f"memory must hold a batch of {documents} documents of {length} source and {target} target tokens, but it "
            f"ran out: halve train.batch_tokens, now {batch_tokens}, and double train.accumulate; "
            "for a batch of one document lower model.source_length"
        ) from error
