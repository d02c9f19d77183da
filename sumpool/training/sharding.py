"""Sharding of weights, gradients and moments over the processes of a training (FSDP2 of PyTorch; `train.parallel`).

Between updates each process holds a part of every tensor, cut along its first dimension. An update gathers the weights
once, before its first forward pass, and sums and scatters the gradients once, in its last backward pass, so that it
sends as much as DistributedDataParallel does. The model is one unit: chunked encoding calls layers once for each chunk
of the documents of a process, while a layer that is a unit would have to be called equally often in all processes.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

import torch
from torch import Tensor, nn

from sumpool.training.config import TrainConfig
from sumpool.training.distributed import Processes
from sumpool.training.memory import available

_REPLICATED_COPIES = 4
"""Tensors of the size of the weights that DistributedDataParallel holds: weights, gradients and two moments."""


def is_sharded(config: TrainConfig, model: nn.Module, device: torch.device, processes: Processes) -> bool:
    """Return whether the training of a model shards it; auto does if copies of all of it would take half the memory."""
    if processes.size == 1 or config.parallel == "ddp":
        return False
    if config.parallel == "fsdp":
        return True
    needed = _REPLICATED_COPIES * sum(parameter.nbytes for parameter in model.parameters())
    sharing = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if device.type == "cpu" else 1
    return processes.from_main(lambda: needed > available(device) / sharing / 2)


@final
class Sharding:
    """A module whose parameters are sharded over processes."""

    def __init__(self, module: nn.Module, device: torch.device, processes: Processes) -> None:
        """Replace the parameters of a module by their parts; all processes take those of process 0.

        Args:
            module: Module on the device; its output has the loss.
            device: Device of this process.
            processes: The processes.
        """
        # Imported here, as most trainings have one process.
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        state = module.state_dict()
        weights = processes.tensors_from_main(state)
        for name, tensor in state.items():
            tensor.copy_(weights[name])
        self._module = module
        self._sharded = fully_shard(module, mesh=init_device_mesh(device.type, (processes.size,)))
        self._processes = processes
        self._reached: set[int] = set()

    def backward(self, loss: Tensor, *, is_last: bool) -> None:
        """Accumulate the gradient of a loss, and scatter the sum if it is the last one of the update.

        Processes send the gradients that they have, which must be the same ones: a parameter that only others have used
        gets a gradient of zeros, and one that none has used gets none.
        """
        parameters = [parameter for parameter in self._module.parameters() if parameter.requires_grad]
        places = {id(parameter): place for place, parameter in enumerate(parameters)}
        self._reached |= {places[variable] for variable in _reached_variables(loss) if variable in places}
        self._sharded.set_requires_gradient_sync(is_last)
        self._sharded.set_reshard_after_backward(is_last)
        if is_last:
            counts = torch.zeros(len(parameters), device=loss.device)
            counts[list(self._reached)] = 1
            for place, count in enumerate(self._processes.sum(counts).tolist()):
                if count and place not in self._reached:
                    loss = loss + 0 * parameters[place].sum()
            self._reached.clear()
        loss.backward()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Hold whole weights within the context, in which processes may call the model unequally often."""
        self._sharded.unshard()
        try:
            yield
        finally:
            self._sharded.reshard()


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
