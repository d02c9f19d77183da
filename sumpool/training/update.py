"""One optimizer update: loss of the batches as parts of that of the update, gradient clipping, AdamW.

From top to bottom: the loss (`Objective`), the update (`Updater`), batches that memory cannot hold (`BatchDivision`),
and the parameters that are trained, with their optimizer and the learning-rate schedule.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sumpool.data.batches import Batch, TrainingData, reseed
from sumpool.errors import CheckpointError, RecipeError, ResourceError, advise_smaller_batches, is_out_of_memory
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.hardware import autocast, choose_precision
from sumpool.training.weights import set_weights, weights_of

if TYPE_CHECKING:
    from sumpool.training.distillation import Teacher

Work = Callable[[Batch], dict[str, Tensor]]
"""Returns sums over the documents of a batch, by name, and may accumulate gradients."""


@dataclass(frozen=True)
class UpdateSize:
    """Size of an update, over all its batches and processes.

    Attributes:
        target_tokens: Target tokens, over which the loss is normalised.
        documents: Documents, over which auxiliary losses are means.
        source_tokens: Source tokens without padding.
        imbalance: Imbalance of tokens between processes; None for one process.
    """

    target_tokens: float
    documents: float
    source_tokens: float = 0
    imbalance: float | None = None

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
            score = partial(self.model, *documents, self._config.label_smoothing, lengths=batch.lengths)
            imitation: dict[str, Tensor] = {}
            if self._teacher:
                (scores, losses, metrics), objective, imitation = self._teacher.imitate(self.model, score, batch)
            else:
                scores, losses, metrics = score()
                objective = scores.nll
            fraction = len(batch.documents) / size.documents
            auxiliary_loss = sum(weight * losses[name] for name, weight in self._config.loss_weights.items())
            loss = objective / size.target_tokens + auxiliary_loss * fraction
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


def count_target_tokens(batch: Batch) -> int:
    """Number of target tokens of a batch, without padding."""
    assert batch.target is not None, "a training batch has targets"
    return int((batch.target != batch.pad).sum())


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

    def read(self) -> dict[str, float]:
        """Wait for the metrics and return them by name.

        `loss` is the training objective per target token, label smoothing and auxiliary losses included, `nats` the
        negative log-likelihood of the references per target token, and `norm` that of the gradient before clipping.
        The others are auxiliary losses and metrics of the model, means over the documents.
        """
        if self._event:
            self._event.synchronize()
        return dict(zip(("loss", "nats", "norm", *self._names), self._values.tolist(), strict=True))


class Updater:
    """Update the weights of a model, unless a loss or a gradient is not finite.

    After the first non-finite loss or gradient this and all further updates leave weights and moments unchanged. The
    device decides this without synchronisation, so that the host may read the metrics later.

    Attributes:
        optimizer: AdamW for the trainable parameters.
        division: Division of batches that memory cannot hold.
    """

    def __init__(
        self, model: nn.Module, config: TrainConfig, device: torch.device, teacher: "Teacher | None" = None
    ) -> None:
        """Freeze the parameters that are not trained, and build the optimizer.

        Raises:
            RecipeError: If a pattern of `config.trainable` matches no parameter.
        """
        self.model = model
        self.config = config
        self.device = device
        self.precision = choose_precision(config.precision, device)
        self._nonfinite = torch.zeros((), device=device)
        freeze(model, config.trainable)
        if teacher:
            teacher.prepare(model)
        self._objective = Objective(model, config, self.precision, teacher)
        self.optimizer = build_optimizer(model, config)
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.division = BatchDivision(config, self._parameters)

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
        size, totals, norm = self._backward(batches)
        loss, nll, *auxiliary = totals.values()
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
        """Return the moments of the optimizer by "parameter name:kind", in process 0."""
        return {
            f"{name}:{kind}": value
            for name, parameter in self.model.named_parameters()
            for kind, value in self.optimizer.state.get(parameter, {}).items()
        }

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
        state: dict[Tensor, dict[str, Tensor]] = {}
        parameters = dict(self.model.named_parameters())
        for key, value in moments.items():
            name, _, kind = key.rpartition(":")
            parameter = parameters.get(name)
            if parameter is None or (value.dim() and value.shape != parameter.shape):
                raise CheckpointError(f"{origin}: {key} {tuple(value.shape)} must belong to a parameter of the model")
            # A copy: tensors of a memory-mapped file may be unaligned.
            state.setdefault(parameter, {})[kind] = value.to(parameter.device, copy=True)
        self.optimizer.state.clear()
        self.optimizer.state.update(state)

    def whole_weights(self) -> AbstractContextManager[None]:
        """Return a context within which the model may be called for validation."""
        return nullcontext()

    def _backward(self, batches: Sequence[Batch]) -> tuple[UpdateSize, dict[str, Tensor], Tensor]:
        """Compute the gradient of an update, and clip its norm.

        Returns:
            Size of the update; its loss, nll and auxiliary metrics, in this order; norm of the gradient before that.
        """
        size, totals = UpdateSize.of(batches), dict[str, Tensor]()

        def accumulate(batch: Batch) -> dict[str, Tensor]:
            loss, parts = self._objective(batch.to(self.device), size)
            loss.backward()
            return {"loss": loss.detach(), **parts}

        for batch in batches:
            for name, value in self.division.run(batch, accumulate).items():
                totals[name] = totals[name] + value if name in totals else value
        return size, totals, nn.utils.clip_grad_norm_(self._parameters, self.config.clip or math.inf).detach()


class BatchDivision:
    """Work on batches, with `train.auto_batch` in halves where memory cannot hold them.

    Sums and gradients of the halves add up to those of the batch. A failed attempt leaves neither gradients nor random
    draws behind; without dropout the results are those of the undivided batch up to the rounding of sums.

    Attributes:
        failed: Documents and source tokens per document of the smallest batch that failed; None if none did.
    """

    def __init__(self, config: TrainConfig, parameters: Sequence[nn.Parameter] = ()) -> None:
        """Divide batches by the settings; the work accumulates the gradients of the parameters."""
        self.failed: tuple[int, int] | None = None
        self._config = config
        self._parameters = parameters

    def note(self) -> str:
        """Describe the batches that are divided."""
        documents, length = self.failed or (0, 0)
        return f"memory cannot hold a batch of {documents} documents of {length} tokens; such batches are divided"

    def run(self, batch: Batch, work: Work) -> dict[str, Tensor]:
        """Do the work on a batch, or on its halves.

        Raises:
            ResourceError: If memory cannot hold the batch, or a single document of it.
        """
        if not self._config.auto_batch or len(batch.documents) == 1:
            with enough_memory(batch, self._config.batch_tokens):
                return work(batch)
        size = len(batch.documents) * batch.ids.size(-1)
        if self.failed is None or size < self.failed[0] * self.failed[1]:
            sums = self._attempt(batch, work)
            if sums is not None:
                return sums
            self.failed = len(batch.documents), batch.ids.size(-1)
        first, second = (self.run(half, work) for half in halve(batch))
        return {name: value + second[name] for name, value in first.items()}

    def _attempt(self, batch: Batch, work: Work) -> dict[str, Tensor] | None:
        """Do the work on the whole batch; return None, with gradients and generators as before, if memory runs out."""
        earlier = [parameter.grad for parameter in self._parameters]
        generators = torch.get_rng_state(), torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
        for parameter in self._parameters:
            parameter.grad = None
        try:
            sums = work(batch)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            sums = None
        for parameter, gradient in zip(self._parameters, earlier, strict=True):
            if sums is None or parameter.grad is None:
                parameter.grad = gradient
            elif gradient is not None:
                parameter.grad = gradient.add_(parameter.grad)
        if sums is None:
            torch.set_rng_state(generators[0])
            if generators[1] is not None:
                torch.cuda.set_rng_state(generators[1])
        return sums


def halve(batch: Batch) -> tuple[Batch, Batch]:
    """Divide a batch of several documents into two, without padding that neither half needs."""
    towers = batch.mask[0, ..., 0].numel()  # documents of a row

    def part(start: int, stop: int) -> Batch:
        mask = batch.mask[start:stop]
        length = max(1, int(mask.sum(-1).max()))
        target = None if batch.target is None else batch.target[start:stop]
        if target is not None:
            target = target[:, : max(1, int((target != batch.pad).sum(1).max()))]
        return replace(
            batch,
            ids=batch.ids[start:stop, ..., :length],
            mask=mask[..., :length],
            sentences=batch.sentences[start:stop, ..., :length],
            target=target,
            documents=batch.documents[start:stop],
            phrases=None if batch.phrases is None else batch.phrases[start:stop, ..., :length],
            lengths=None if batch.lengths is None else batch.lengths[start * towers : stop * towers],
        )

    middle = len(batch.documents) // 2
    return part(0, middle), part(middle, len(batch.documents))


@contextmanager
def enough_memory(batch: Batch, batch_tokens: int) -> Iterator[None]:
    """Convert out-of-memory errors to errors that name the batch and a remedy.

    Raises:
        ResourceError: If the block runs out of memory.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        documents, length = len(batch.documents), batch.ids.size(-1)
        target = 0 if batch.target is None else batch.target.size(1)
        remedy = "lower model.source_length, or set train.checkpoint_activations=true"
        if documents > 1:
            remedy = advise_smaller_batches(batch_tokens)
        raise ResourceError(
            f"memory must hold a batch of {documents} document{'s' if documents > 1 else ''} of {length} source and "
            f"{target} target tokens, but it ran out: {remedy}"
        ) from error


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Freeze all parameters whose names match no pattern (`train.trainable`); dropout is unaffected.

    Args:
        model: Model; a shared parameter is known by its first name.
        patterns: Shell patterns, such as "decoder.*".

    Raises:
        RecipeError: If a pattern matches no parameter; the model is then unchanged.
    """
    parameters = dict(model.named_parameters())
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in parameters):
            modules = [f"{name}.*" for name, _ in model.named_modules() if name]
            close = " or ".join(get_close_matches(pattern, [*parameters, *modules])) or next(iter(parameters))
            raise RecipeError(f"train.trainable must match names of weights, got {pattern} (did you mean {close}?)")
    for name, parameter in parameters.items():
        parameter.requires_grad_(any(fnmatchcase(name, pattern) for pattern in patterns))


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Build AdamW for the parameters that are not frozen, with weight decay on matrices only (not on biases and norms).

    The fused kernel is as reproducible as the plain one, and can skip an update by a flag on the device.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in parameters if parameter.dim() >= 2]
    vectors = [parameter for parameter in parameters if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=config.betas,
        fused=True,
    )


def schedule_factor(step: int, config: ScheduleConfig, steps: int) -> float:
    """Learning rate of an update as a fraction of the peak, in [0, 1].

    The warm-up is linear from 1 / (warmup + 1) at the first update to 1 at step `warmup`.

    Args:
        step: Updates made so far.
        config: Settings of the schedule.
        steps: Updates of the whole run; used by cosine and linear only.
    """
    if step < config.warmup:
        return (step + 1) / (config.warmup + 1)
    progress = min(1.0, (step - config.warmup) / max(1, steps - config.warmup))
    match config.kind:
        case "constant":
            return 1.0
        case "inverse_sqrt":
            return math.sqrt((config.warmup + 1) / (step + 1))
        case "cosine":
            return config.floor + (1 - config.floor) * (1 + math.cos(math.pi * progress)) / 2
        case "linear":
            return config.floor + (1 - config.floor) * (1 - progress)
