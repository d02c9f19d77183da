"""Models whose first weights nobody will see: made without working them out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


@final
class SkipInit(TorchFunctionMode):
    """Within it, weights are made and not initialised: they hold anything until they are loaded.

    Random numbers are a fifth of a second for 8 million weights, and on the meta device, which has no memory to fill,
    PyTorch would import its compiler for them.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the function returns
        """Return the tensor as it is where a function of `torch.nn.init` would fill it."""
        if getattr(func, "__module__", "") == nn.init.__name__ or func in (Tensor.normal_, Tensor.uniform_):
            return (*args, *(kwargs or {}).values())[0]
        return func(*args, **(kwargs or {}))
