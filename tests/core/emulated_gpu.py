"""A CPU in the place of a GPU: tensors that report `cuda`, refuse the host's, and count synchronisations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from traceback import extract_stack
from typing import Any, Self, TypeVar, cast
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

aten = torch.ops.aten
CUDA = torch.device("cuda", 0)
ModuleT = TypeVar("ModuleT", bound=nn.Module)

WAITS = {
    aten._local_scalar_dense.default: "item",
    aten.equal.default: "equal",
    aten.nonzero.default: "nonzero",
    aten.masked_select.default: "masked_select",
    aten._unique2.default: "unique",
    aten.unique_dim.default: "unique",
    aten.unique_consecutive.default: "unique",
}
"""Operators whose result the host needs before it can go on."""


class GpuTensor(Tensor):
    """A tensor in the memory of the emulated device, which is the host's.

    To the C++ part of PyTorch it is a tensor on `meta`, for which no libraries are needed.
    """

    memory: Tensor
    device = CUDA
    is_cuda = True
    is_meta = False

    @staticmethod
    def __new__(cls: type[Self], memory: Tensor) -> Self:
        """Wrap a host tensor (without a copy)."""
        make = cast(Callable[..., Any], Tensor._make_wrapper_subclass)
        tensor = cast(
            Self,
            make(cls, memory.shape, memory.stride(), memory.storage_offset(), dtype=memory.dtype, device="meta"),
        )
        tensor.memory = memory
        return tensor

    def new_tensor(self, data: object, *_: object, **__: object) -> Tensor:
        """Copy data from the host."""
        return torch.tensor(data, dtype=self.dtype, device=self.device)

    def __getitem__(self, index: object) -> Tensor:
        return super().__getitem__(_copy_lists(index))

    def __setitem__(self, index: object, value: Tensor | float) -> None:
        super().__setitem__(_copy_lists(index), value)

    def data_ptr(self) -> int:
        """Return the address of the memory; that of a tensor on `meta` is 0."""
        return self.memory.data_ptr()

    def tolist(self) -> list[object]:
        """Copy to the host."""
        return list(self.cpu().tolist())

    @classmethod
    def __torch_dispatch__(  # type: ignore[override] # whose type lacks the operator
        cls, operator: object, types: object, args: tuple[object, ...] = (), kwargs: dict[str, object] | None = None
    ) -> object:
        """Refuse: outside `emulated_gpu` nothing can be computed."""
        raise RuntimeError(f"{operator} must run inside emulated_gpu")


def _copy_lists(index: object) -> tuple[slice, ...]:
    """Copy lists in an index to the device; on `meta` they would lose their values."""
    parts = index if isinstance(index, tuple) else (index,)
    copied = (torch.tensor(part, device=CUDA) if isinstance(part, list) else part for part in parts)
    return cast("tuple[slice, ...]", tuple(copied))


class EmulatedGpu(TorchDispatchMode):
    """Operators on the emulated device, computed by the CPU.

    Attributes:
        synchronisations: Number of waits of the host for the device, by module of the package and cause.
        copies: Copies from the host that nothing waits for, by module of the package; a CUDA graph cannot repeat them.
    """

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)
        self.synchronisations: Counter[str] = Counter()
        self.copies: Counter[str] = Counter()
        self._pinned: dict[int, Tensor] = {}

    def pin(self, tensor: Tensor) -> Tensor:
        """Copy a tensor of the host to pinned memory."""
        pinned = tensor.clone()
        self._pinned[pinned.untyped_storage().data_ptr()] = pinned
        return pinned

    def __torch_dispatch__(
        self, operator: OpOverload, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> object:
        kwargs = dict(kwargs or {})
        tensors = [*_tensors_in(args), *_tensors_in(kwargs.values())]
        on_gpu = any(isinstance(tensor, GpuTensor) for tensor in tensors)
        target = kwargs.get("device")
        to_gpu = target is not None and torch.device(target).type in ("cuda", "meta")
        if not (on_gpu or to_gpu):
            return operator(*args, **kwargs)
        self._check(operator, args, kwargs, tensors)
        if to_gpu:
            kwargs["device"] = "cpu"
        result = operator(*map(_on_host, args), **{name: _on_host(value) for name, value in kwargs.items()})
        if target is not None and not to_gpu:
            return result
        result = _on_device(result)
        return return_and_correct_aliasing(operator, args, kwargs, result) if on_gpu else result

    def _check(
        self, operator: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: list[Tensor]
    ) -> None:
        """Count the synchronisations of an operator as CUDA makes them; refuse tensors of two devices."""
        host = [tensor for tensor in tensors if not isinstance(tensor, GpuTensor)]
        if operator in WAITS:
            self._count(WAITS[operator])
        elif operator is aten._to_copy.default:
            self._count_copy(args[0], torch.device(kwargs.get("device") or args[0].device), kwargs.get("non_blocking"))
        elif operator is aten.copy_.default:
            self._count_copy(args[1], args[0].device, kwargs.get("non_blocking") or args[2:] == (True,))
        elif operator in (
            aten.index.Tensor,
            aten.index_put_.default,
            aten.index_put.default,
            aten._index_put_impl_.default,
        ):
            self._count_index(args)
        elif operator is aten.repeat_interleave.Tensor and kwargs.get("output_size") is None:
            self._count("repeat_interleave")
        elif any(tensor.dim() for tensor in host):
            shapes = [tuple(tensor.shape) for tensor in host]
            raise RuntimeError(f"{operator} must have all tensors on one device, got {shapes} on the host")

    def _count(self, cause: str) -> None:
        self.synchronisations[f"{_caller()}: {cause}"] += 1

    def _count_copy(self, source: Tensor, target: torch.device, non_blocking: object) -> None:
        if source.device.type == "cuda" and target.type == "cpu":
            if not non_blocking:  # otherwise PyTorch copies to pinned memory
                self._count("copy to host")
        elif source.device.type != "cuda" and target.type != "cpu":
            if not non_blocking:
                self._count("copy to device")
            elif source.numel() and source.untyped_storage().data_ptr() not in self._pinned:
                self._count("copy of pageable memory")
            else:
                self.copies[_caller()] += 1

    def _count_index(self, args: Sequence[Any]) -> None:
        """Indices from the host are copied; masks become indices, except where one value fills them."""
        if not isinstance(args[0], GpuTensor):
            raise RuntimeError("index must have all tensors on one device, got indices on the GPU")
        fills = len(args) > 2 and args[2].numel() == 1
        for index in args[1]:
            if index is not None and not isinstance(index, GpuTensor):
                self._count("copy to device")
            if index is not None and index.dtype in (torch.bool, torch.uint8) and not fills:
                self._count("mask as index")


def _tensors_in(values: Iterable[object]) -> Iterator[Tensor]:
    """List the tensors of arguments, which are values or sequences of them; trees of torch take thrice as long."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors_in(value)


def _on_host(value: object) -> object:
    """Return an argument with the host's tensors in place of those of the device."""
    if isinstance(value, GpuTensor):
        return value.memory
    return type(value)(map(_on_host, value)) if isinstance(value, list | tuple) else value


def _on_device(result: object) -> object:
    """Return a result with its tensors on the device."""
    if isinstance(result, Tensor):
        return GpuTensor(result)
    return type(result)(map(_on_device, result)) if isinstance(result, list | tuple) else result


def _caller() -> str:
    """Return the module of the package that the innermost call comes from."""
    files = [frame.filename.partition("/sumpool/")[2] for frame in reversed(extract_stack())]
    return next(filter(None, files), "caller")


@contextmanager
def emulated_gpu() -> Iterator[EmulatedGpu]:
    """Emulate the device `cuda`, whether or not this machine has one."""
    make, to = torch.tensor, cast(Callable[..., nn.Module], nn.Module.to)

    def tensor(data: object, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Tensor:
        return make(data, dtype=dtype).to(device or "cpu")

    def module_to(module: nn.Module, *args: object, **kwargs: object) -> nn.Module:
        device = kwargs.get("device") or next(iter(args), None)
        is_gpu = isinstance(device, str | torch.device) and torch.device(device).type == "cuda"
        return on_gpu(module) if is_gpu else to(module, *args, **kwargs)

    def no_grad(mode: bool) -> torch.set_grad_enabled:
        """Stand in for inference mode, which hands composite operators to the device."""
        return torch.set_grad_enabled(torch.is_grad_enabled() and not mode)

    with (
        patch("torch._C._InferenceMode", no_grad),
        patch("torch.cuda._lazy_init"),
        patch("torch.cuda.synchronize"),
        patch("torch.cuda.reset_peak_memory_stats"),
        patch("torch.cuda.memory_allocated", return_value=0),
        patch("torch.cuda.max_memory_allocated", return_value=0),
        patch("torch.cuda.memory_reserved", return_value=0),
        patch("torch.cuda.mem_get_info", return_value=(2**40, 2**40)),
        patch.object(nn.Module, "to", module_to),
        patch("torch.cuda.Event"),
        patch("torch.cuda.amp.common.amp_definitely_not_available", return_value=False),
        patch("torch.tensor", tensor),
        torch.autograd.set_multithreading_enabled(False),
        EmulatedGpu() as gpu,
        patch.object(Tensor, "pin_memory", lambda tensor: gpu.pin(tensor)),
    ):
        yield gpu


def on_gpu(module: ModuleT) -> ModuleT:
    """Move a module to the emulated device, in place; shared parameters stay shared."""
    moved: dict[int, nn.Parameter] = {}
    with emulated_gpu():
        for child in module.modules():
            for name, parameter in child._parameters.items():
                if parameter is not None and not isinstance(parameter.data, GpuTensor):
                    copy = nn.Parameter(GpuTensor(parameter.data), parameter.requires_grad)
                    child._parameters[name] = moved.setdefault(id(parameter), copy)
            for name, buffer in child._buffers.items():
                if buffer is not None and not isinstance(buffer, GpuTensor):
                    child._buffers[name] = GpuTensor(buffer)
    return module
