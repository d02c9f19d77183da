"""Trainings of several processes, as torchrun starts them: the values that they exchange, and their updates.

An update is that of one process, with its documents divided among the processes. Each process computes the gradient
over its documents, and gradients are reduced once per update, in the last backward pass: by DistributedDataParallel, or
by FSDP2, where each process holds a part of weights, gradients and moments between updates, cut along the first
dimension (`train.parallel`). FSDP2 gathers the weights once, before the first forward pass, and sums and scatters the
gradients once, so that it sends as much as DistributedDataParallel does. The model is one unit: chunked encoding calls
layers once for each chunk of the documents of a process, while a layer that is a unit would have to be called equally
often in all processes.

Objects travel through gloo, gradients and metrics through the backend of their device: gloo on CPUs, NCCL on GPUs.
"""

import ctypes
import heapq
import math
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any, final

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.rendezvous import rendezvous
from torch.distributed.tensor import DTensor, distribute_tensor

from sumpool.data.batches import Batch, TrainingData, fill_batches, reseed
from sumpool.errors import Interrupted, RecipeError, ResourceError
from sumpool.progress import Check
from sumpool.training.config import TrainConfig
from sumpool.training.distillation import Teacher
from sumpool.training.hardware import available
from sumpool.training.processes import Processes, Value
from sumpool.training.update import Updater, UpdateSize, build_optimizer, enough_memory

TIMEOUT = timedelta(days=2)
"""Time that processes wait for one that prepares data or summarises; one that has ended is noticed at once."""
_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
_LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "NCCL", "gloo", "Socket")
"""Parts of the messages of collectives whose other processes have ended."""
_PR_SET_PDEATHSIG = 1
"""Operation of prctl: the signal that a process receives when its parent ends."""
_REPLICATED_COPIES = 4
"""Tensors of the size of the weights that DistributedDataParallel holds: weights, gradients and two moments."""


class DistributedProcesses(Processes):
    """Several processes; all of them call an operation, which returns when each has."""

    def sum(self, values: Tensor) -> Tensor:
        """Sum a tensor over the processes, on its device."""
        dist.all_reduce(values)
        return values

    def gather(self, value: Value) -> list[Value]:
        """Return the values of all processes, in the order of their ranks."""
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def from_main(self, compute: Callable[[], Value]) -> Value:
        """Compute a value in process 0 and return it in all."""
        values: list[Any] = [compute() if self.is_main else None]
        dist.broadcast_object_list(values, device=torch.device("cpu"))
        result: Value = values[0]
        return result

    def check_together(self, check: Check) -> None:
        """Stop all processes at the same point if one of them has received a signal.

        Raises:
            Interrupted: If one has.
        """
        number = 0
        try:
            check()
        except Interrupted as stop:
            number = stop.number
        largest = torch.tensor(number)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        if largest:
            raise Interrupted(int(largest))


@contextmanager
def distributed(device: str) -> Iterator[DistributedProcesses]:
    """Join the processes that torchrun has started, several; arguments and errors are those of `join_processes`."""
    missing = [name for name in _VARIABLES if not os.environ.get(name, "").strip()]
    if missing:
        raise RecipeError(
            f"the environment must have {', '.join(_VARIABLES)} for a training of several processes, got no "
            f"{', '.join(missing)}: start it with torchrun, or unset WORLD_SIZE"
        )
    if sys.platform == "linux" and "TORCHELASTIC_RUN_ID" in os.environ:
        # When torchrun is killed, this process ends, so that it does not hold the run folder without it.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    backend = "gloo"
    if device != "cpu" and torch.cuda.is_available():
        local_rank, gpus = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if local_rank >= gpus:
            raise RecipeError(
                f"each process of a machine must have a GPU of its own, got process {local_rank + 1} and {gpus} GPUs: "
                "start fewer processes, or set train.device=cpu"
            )
        torch.cuda.set_device(local_rank)
        backend = "cpu:gloo,cuda:nccl"
    try:
        restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        if restart == "0" or os.environ.get("LOCAL_WORLD_SIZE") != os.environ["WORLD_SIZE"]:
            dist.init_process_group(backend, timeout=TIMEOUT)
        else:  # the store of torchrun still has the addresses of the processes before
            store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
            store = PrefixStore(f"restart-{restart}", store)
            dist.init_process_group(backend, timeout=TIMEOUT, store=store, rank=rank, world_size=size)
        yield DistributedProcesses(dist.get_rank(), dist.get_world_size())
        dist.destroy_process_group()
    except RuntimeError as error:
        if not any(text in str(error) for text in _LOST):
            raise
        raise ResourceError(
            "all processes of a training must run until its end, but one has ended: see why in its log, and run the "
            "same command again, which resumes from the newest checkpoint"
        ) from error


@final
class ParallelUpdater(Updater):
    """Updater of one of several processes, all of which make the same update."""

    def __init__(
        self, model: nn.Module, config: TrainConfig, device: torch.device, teacher: Teacher | None, processes: Processes
    ) -> None:
        """Distribute the model, with the weights of process 0.

        Raises:
            RecipeError: If a pattern of `config.trainable` matches no parameter, or batches are to be divided.
        """
        if config.auto_batch:  # a process cannot divide a batch that the others do not know of
            raise RecipeError(
                "train.auto_batch must be false in a training of several processes, got true: lower train.batch_tokens "
                "and raise train.accumulate"
            )
        super().__init__(model, config, device, teacher)
        self._processes = processes
        self._replica: nn.parallel.DistributedDataParallel | None = None
        self._sharded: FSDPModule | None = None
        self._is_idle = False
        self._imbalance = 0.0
        self._reached: set[int] = set()
        if is_sharded(config, model, device, processes):
            for tensor in self._objective.state_dict().values():
                dist.broadcast(tensor, 0)
            self._sharded = fully_shard(self._objective, mesh=init_device_mesh(device.type, (processes.size,)))
            self.optimizer = build_optimizer(model, config)  # of parameters that are parts now
            self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch 2.13 renames broadcast_buffers
            # Losses of weight 0 leave parameters without gradients.
            self._replica = nn.parallel.DistributedDataParallel(
                self._objective, broadcast_buffers=False, find_unused_parameters=True, gradient_as_bucket_view=True
            )

    def batches(self, data: TrainingData, indices: Sequence[Sequence[int]], step: int) -> list[Batch]:
        """Collate the share of this process; a process without documents gets the shortest one, without weight.

        Dropout is drawn in each process for its own documents.
        """
        documents = [index for batch in indices for index in batch]
        lengths = data.lengths(data.training)[documents]
        shares = divide(lengths, self._processes.size)
        share = shares[self._processes.rank]
        self._imbalance = imbalance(lengths, shares)
        self._is_idle = not share
        batches = [
            data.batch(data.training, [documents[index] for index in chosen])
            for chosen in fill_batches(share or [int(np.argmin(lengths))], lengths, self.config.batch_tokens)
        ]
        reseed(data.seed, step, self._processes.rank)
        return batches

    def weights(self) -> dict[str, Tensor]:
        """Return whole weights by name in process 0, and nothing in others; all must call this."""
        return self._gather(super().weights())

    def moments(self) -> dict[str, Tensor]:
        """Return whole moments by name in process 0, and nothing in others; all must call this."""
        return self._gather(super().moments())

    def _gather(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        whole = {}
        for name, tensor in tensors.items():
            gathered = tensor.full_tensor().cpu() if isinstance(tensor, DTensor) else tensor
            if self._processes.is_main:
                whole[name] = gathered
        return whole

    def load_state(self, weights: Mapping[str, Tensor], moments: Mapping[str, Tensor], origin: str) -> None:
        """Load weights and moments of a checkpoint: of whole tensors, the parts of this process."""
        like = self.model.state_dict()
        super().load_state(
            {name: _part_of(tensor, like.get(name)) for name, tensor in weights.items()},
            {name: _part_of(tensor, like.get(name.rpartition(":")[0])) for name, tensor in moments.items()},
            origin,
        )

    @contextmanager
    def whole_weights(self) -> Iterator[None]:
        """Hold whole weights within the context, in which processes may call the model unequally often."""
        if self._sharded:
            self._sharded.unshard()
        try:
            yield
        finally:
            if self._sharded:
                self._sharded.reshard()

    def _backward(self, batches: Sequence[Batch]) -> tuple[UpdateSize, dict[str, Tensor], Tensor]:
        """Compute the gradient of an update of all processes, which exchange theirs in the last backward pass."""
        own = UpdateSize.of(batches)
        counts = torch.tensor([own.target_tokens, own.documents, own.source_tokens], dtype=torch.float64)
        tokens, documents, source_tokens = self._processes.sum(counts * (not self._is_idle)).tolist()
        size = UpdateSize(tokens, documents, source_tokens, self._imbalance)
        weight = UpdateSize(math.inf, math.inf) if self._is_idle else size
        totals: dict[str, Tensor] = {}
        for number, batch in enumerate(batches, 1):
            is_last = number == len(batches)
            with (
                enough_memory(batch, self.config.batch_tokens),
                self._replica.no_sync() if self._replica and not is_last else nullcontext(),
            ):
                loss, parts = (self._replica or self._objective)(batch.to(self.device), weight)
                total = loss * self._processes.size  # of which gradients are averaged over the processes
                if self._sharded:
                    total = self._synchronise(total, self._sharded, is_last=is_last)
                total.backward()
            for name, value in {"loss": loss.detach(), **parts}.items():
                totals[name] = totals[name] + value if name in totals else value
        sums = self._processes.sum(torch.stack(list(totals.values()))).unbind()
        norm = nn.utils.clip_grad_norm_(self._parameters, self.config.clip or math.inf).detach()
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        return size, dict(zip(totals, sums, strict=True)), norm

    def _synchronise(self, loss: Tensor, sharded: FSDPModule, *, is_last: bool) -> Tensor:
        """Let the backward pass of a loss scatter the sum of the gradients if it is the last one of the update.

        Processes send the gradients that they have, which must be the same ones: a parameter that only others have used
        gets a gradient of zeros, and one that none has used gets none.
        """
        parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]  # whole ones now
        indices = {id(parameter): index for index, parameter in enumerate(parameters)}
        self._reached |= {indices[variable] for variable in _reached_variables(loss) if variable in indices}
        sharded.set_requires_gradient_sync(is_last)
        sharded.set_reshard_after_backward(is_last)
        if is_last:
            counts = torch.zeros(len(parameters), device=loss.device)
            counts[list(self._reached)] = 1
            for index, count in enumerate(self._processes.sum(counts).tolist()):
                if count and index not in self._reached:
                    loss = loss + 0 * parameters[index].sum()
            self._reached.clear()
        return loss


def is_sharded(config: TrainConfig, model: nn.Module, device: torch.device, processes: Processes) -> bool:
    """Return whether the training of a model shards it; auto does if copies of all of it would take half the memory."""
    if config.parallel != "auto":
        return config.parallel == "fsdp"
    needed = _REPLICATED_COPIES * sum(parameter.nbytes for parameter in model.parameters())
    sharing = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if device.type == "cpu" else 1
    return processes.from_main(lambda: needed > available(device) / sharing / 2)


def divide(lengths: Sequence[int] | np.ndarray, size: int) -> list[list[int]]:
    """Divide documents among processes: longest first, each to the process with the fewest tokens so far.

    Args:
        lengths: Tokens of the documents of an update, by position.
        size: Number of processes.

    Returns:
        Positions of the documents of each process, shortest document first; empty where there are fewer documents
        than processes.
    """
    shares: list[list[int]] = [[] for _ in range(size)]
    loads = [(0, rank) for rank in range(size)]
    for position in np.argsort(-np.asarray(lengths), kind="stable").tolist():
        load, rank = loads[0]
        shares[rank].append(position)
        heapq.heapreplace(loads, (load + int(lengths[position]), rank))
    return [share[::-1] for share in shares]


def imbalance(lengths: Sequence[int] | np.ndarray, shares: Sequence[Sequence[int]]) -> float:
    """Tokens of the fullest share above those of the mean share, as a fraction of the latter."""
    loads = [sum(int(lengths[position]) for position in share) for share in shares]
    return max(loads) * len(loads) / sum(loads) - 1


def _part_of(tensor: Tensor, like: Tensor | None) -> Tensor:
    """Return the part of a whole tensor that this process holds, if another tensor of this shape is sharded."""
    if not tensor.dim() or not isinstance(like, DTensor) or tensor.shape != like.shape:
        return tensor
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def _reached_variables(loss: Tensor) -> set[int]:
    """Return the identities of the tensors to which a backward pass from a loss adds gradients."""
    reached: set[int] = set()
    seen = {loss.grad_fn}
    nodes = [loss.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is None:
            continue
        if hasattr(node, "variable"):
            reached.add(id(node.variable))
        following = [child for child, _ in node.next_functions if child not in seen]
        seen.update(following)
        nodes += following
    return reached
