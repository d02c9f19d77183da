"""Execution of modules: activation checkpointing, skipped weight initialisation, number of threads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, final

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

OutputT = TypeVar("OutputT")


def run_layer(layer: Callable[..., OutputT], *inputs: object, checkpointed: bool) -> OutputT:
    """Call a layer, with activation checkpointing if asked for (Chen et al., 2016).

    Args:
        layer: Any module; its dropout is replayed on the way back.
        inputs: Arguments of the layer.
        checkpointed: Whether to store only the inputs for the backward pass and compute the activations twice. Ignored
            where no gradient is recorded.

    Returns:
        The output of the layer, with the same gradients either way.
    """
    if not checkpointed or not torch.is_grad_enabled():
        return layer(*inputs)
    output: OutputT = checkpoint(layer, *inputs, use_reentrant=False)
    return output


@final
class SkipInit(TorchFunctionMode):
    """Context in which modules are built with uninitialised weights, for models whose weights are loaded afterwards.

    Random numbers take 0.2 seconds for 8 million weights, and on the meta device, which has no memory to fill, PyTorch
    would import its compiler for them.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the function returns
        """Return the tensor unchanged where a function of `torch.nn.init` would fill it."""
        if getattr(func, "__module__", "") == nn.init.__name__ or func in (Tensor.normal_, Tensor.uniform_):
            return (*args, *(kwargs or {}).values())[0]
        return func(*args, **(kwargs or {}))


@contextmanager
def one_thread(enabled: bool = True) -> Iterator[None]:
    """Restrict PyTorch to one intra-op thread within the context.

    Threads that share an operation wait for the slowest of them. Loading a model and stepping a small one are hundreds
    of operations of some microseconds each: on idle cores more threads gain little, and where another program occupies
    one of two cores, more threads are two to fifteen times slower.

    Args:
        enabled: False leaves the number of threads as it is.
    """
    before = torch.get_num_threads()
    if enabled:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
