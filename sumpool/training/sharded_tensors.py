"""Tensors of which each process of a training holds a part (`sumpool.training.sharding`), and whole ones."""

from collections.abc import Mapping

from torch import Tensor

from sumpool.training.distributed import Processes


def gather(tensors: Mapping[str, Tensor], processes: Processes) -> dict[str, Tensor]:
    """Return whole tensors by name in process 0, from parts in all processes; in others an empty mapping."""
    whole: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        gathered = whole_tensor(tensor)
        if processes.is_main:
            whole[name] = gathered if gathered is tensor else gathered.cpu()
    return whole


def is_sharded_tensor(tensor: Tensor) -> bool:
    """Return whether each process holds a part of a tensor."""
    return hasattr(tensor, "device_mesh")


def whole_tensor(tensor: Tensor) -> Tensor:
    """Return a tensor without its sharding, if it has one; all processes must call this."""
    whole: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return whole


def part_of(tensor: Tensor, like: Tensor) -> Tensor:
    """Return the part of a whole tensor of this process where another tensor of this shape is sharded."""
    if not is_sharded_tensor(like):
        return tensor
    from torch.distributed.tensor import DTensor, distribute_tensor

    assert isinstance(like, DTensor)
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def parts_of(tensors: Mapping[str, Tensor], like: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the parts of whole tensors of this process where those of the same names are sharded."""
    return {name: part_of(tensor, like[name]) if name in like else tensor for name, tensor in tensors.items()}
