"""Running a model without its products of matrices: shapes flow through it, and nearly nothing is computed.

Whatever counts operations still sees every product. Unlike on torch's meta device, code that looks at values still
runs, such as an attention that skips blocks of padding.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class WithoutProducts(TorchDispatchMode):
    """Inside, a product of matrices, attention included, gives zeros of its shape; for the CPU, without gradients."""

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)  # mypy takes super().__init__ for a function without types

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - an operator of torch, which has no public type
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        """Answer products, and let everything else be computed."""
        del types
        zeros = _ZEROS.get(func.overloadpacket)
        if zeros:
            return zeros(*args)
        settings = kwargs or {}
        with self:  # outside autograd a linear layer comes as one operator, and holds its product inside
            parts = func.decompose(*args, **settings)
        return func(*args, **settings) if parts is NotImplemented else parts


def _mm(left: Tensor, right: Tensor) -> Tensor:
    return left.new_zeros(left.size(0), right.size(1))


def _addmm(bias: Tensor, left: Tensor, right: Tensor) -> Tensor:
    del bias
    return _mm(left, right)


def _bmm(left: Tensor, right: Tensor) -> Tensor:
    return left.new_zeros(left.size(0), left.size(1), right.size(2))


def _baddbmm(bias: Tensor, left: Tensor, right: Tensor) -> Tensor:
    del bias
    return _bmm(left, right)


def _attend(query: Tensor, key: Tensor, value: Tensor, *settings: object) -> tuple[Tensor, Tensor]:
    """Give what is mixed, and the logarithms that only a backward pass reads."""
    del key, settings
    mixed = query.new_zeros((*query.shape[:-1], value.size(-1)))
    return mixed, query.new_zeros(0)


_ZEROS: Mapping[object, Callable[..., object]] = {
    torch.ops.aten.mm: _mm,
    torch.ops.aten.addmm: _addmm,
    torch.ops.aten.bmm: _bmm,
    torch.ops.aten.baddbmm: _baddbmm,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attend,
}
