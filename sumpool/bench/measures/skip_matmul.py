"""Running a model without its matrix products: shapes flow through it, and nearly nothing is computed.

Operation counters still see every product. Unlike on torch's meta device, code that looks at values still runs, such as
an attention that skips blocks of padding.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class SkipMatmul(TorchDispatchMode):
    """Mode in which matrix products, attention included, return zeros of their shape; CPU only, without gradients."""

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)  # mypy takes super().__init__ for a function without types

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - an operator of torch, which has no public type
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        """Answer products with zeros, and compute everything else."""
        del types
        zeros = _ZEROS.get(func.overloadpacket)
        if zeros:
            return zeros(*args)
        settings = kwargs or {}
        with self:  # outside autograd a linear layer is one operator with its product inside
            parts = func.decompose(*args, **settings)
        return func(*args, **settings) if parts is NotImplemented else parts


def _matmul(left: Tensor, right: Tensor) -> Tensor:
    return left.new_zeros((*left.shape[:-1], right.size(-1)))


def _add_matmul(bias: Tensor, left: Tensor, right: Tensor) -> Tensor:
    del bias
    return _matmul(left, right)


def _attention(query: Tensor, key: Tensor, value: Tensor, *settings: object) -> tuple[Tensor, Tensor]:
    """Mixed values, and log-sum-exps that only a backward pass reads."""
    del key, settings
    return query.new_zeros((*query.shape[:-1], value.size(-1))), query.new_zeros(0)


_ZEROS: Mapping[object, Callable[..., object]] = {
    torch.ops.aten.mm: _matmul,
    torch.ops.aten.addmm: _add_matmul,
    torch.ops.aten.bmm: _matmul,
    torch.ops.aten.baddbmm: _add_matmul,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
}
