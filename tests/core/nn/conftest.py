from collections.abc import Callable

import pytest
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class LargestTensor(TorchDispatchMode):
    """Records the size of the largest tensor."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numel = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        output = func(*args, **(kwargs or {}))
        for part in output if isinstance(output, tuple) else [output]:
            if isinstance(part, Tensor):
                self.numel = max(self.numel, part.numel())
        return output


@pytest.fixture
def largest() -> LargestTensor:
    """A context that records the size of the largest tensor."""
    return LargestTensor()
