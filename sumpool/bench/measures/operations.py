"""Counted operations: the same number on every machine, whatever else the machine does.

A multiplication and an addition are two operations. Matrix products count, attention included whatever kernel computes
it; a mask saves nothing. Softmax, normalisation, sorting, gathering and other element-wise work do not count. A fused
attention recomputes its scores in the backward pass, and that counts.

With `SkipMatmul` shapes flow through a model and nearly nothing is computed, while the counter still sees every
product. Unlike on torch's meta device, code that looks at values still runs, such as an attention that skips blocks of
padding.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from sumpool.bench.measures.timing import Work
from sumpool.bench.workload import Documents
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.core.pooling._base import Pooled
from sumpool.special_tokens import BOS

ALL = "Global"
"""torch's name for everything that was counted."""


Operations = Counter[str]
"""`maps` of linear maps, vectors times learned weights; `products` of all others: scores, mixing, and hashing."""


def count(work: Work) -> int:
    """Run the work once and count its operations, those of its backward pass included."""
    return count_modules(work)[ALL].total()


def count_modules(work: Work) -> dict[str, Operations]:
    """Run the work once and count the operations of every module, by path from the outermost, and of `ALL`."""
    with FlopCounterMode(display=False, custom_mapping=dict(_CPU_ATTENTION)) as counter:
        work()
    return {path: _split(kernels) for path, kernels in ({ALL: {}} | counter.get_flop_counts()).items()}


def _split(kernels: Mapping[object, int]) -> Operations:
    """Tell linear maps from other products by the kernel: a batch of matrices is no linear map."""
    maps = sum(kernels.get(kernel, 0) for kernel in (torch.ops.aten.mm, torch.ops.aten.addmm))
    return Counter(maps=maps, products=sum(kernels.values()) - maps)


# torch's own table has the attention kernels of CUDA only; queries, keys and values share one head_dim here. A forward
# pass has two products, scores and the mixing of values; a backward pass five: the scores again, and four gradients.
_CPU_ATTENTION: Mapping[object, Callable[..., int]] = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: (
        lambda query, key, *_, **__: 2 * 2 * query.numel() * key[-2]
    ),
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: (
        lambda _, query, key, *__, **___: 5 * 2 * query.numel() * key[-2]
    ),
}


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


_LOOKUPS = {torch.ops.aten.embedding, torch.ops.aten.index_select, torch.ops.aten.index, torch.ops.aten.gather}
"""Operators that read no more than they return."""


@dataclass(frozen=True)
class ModelProfile:
    """Costs of a model for one document: operations and output lengths of the encoder, and numbers that a step reads.

    Those are weights, the vocabulary's included, and cached numbers: keys and values, and keys of a pointer.
    """

    operations: int
    output_lengths: tuple[int, ...]
    weights: int
    cached: int


def profile_model(model: SummarizationModel, document: Documents, beams: int) -> ModelProfile:
    """Profile the encoder on one document (batch of 1), and the first step of a search."""
    memories: list[Memory] = []
    pooled: dict[str, int] = {}

    def read() -> None:
        memories.append(model.encode(document.ids, document.mask, document.sentences))

    def note(number: str, _pooler: nn.Module, _given: object, output: Pooled) -> None:
        pooled[number] = output.tokens.mask.size(1)

    training = model.training
    model.eval()
    hooks = [layer.register_forward_hook(partial(note, number)) for number, layer in model.encoder.poolers.items()]
    with torch.inference_mode(), SkipMatmul():
        operations = count(read)
        state = model.start(memories[0], beams)
        with _Reads() as reads:
            model.step(torch.full((beams,), BOS, device=document.ids.device), state)
    for hook in hooks:
        hook.remove()
    model.train(training)
    lengths = [document.ids.size(1)]
    for number in range(len(model.encoder.layers)):
        lengths.append(pooled.get(str(number), lengths[-1]))
    storages = {_storage(weights) for weights in model.parameters()}
    numbers = reads.numbers()
    of_weights = sum(read for storage, read in numbers.items() if storage in storages)
    return ModelProfile(operations, tuple(lengths[1:]), of_weights, sum(numbers.values()) - of_weights)


class _Reads(TorchDispatchMode):
    """Mode that notes which numbers are read of tensors made outside; what is read twice counts once."""

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)  # mypy takes super().__init__ for a function without types
        self._read: dict[int, dict[int, int]] = {}
        self._made: dict[int, Tensor] = {}
        self._sizes: dict[int, int] = {}

    def numbers(self) -> dict[int, int]:
        """Numbers read of each storage; its parts, such as keys and values, add up to at most all of it."""
        return {storage: min(sum(parts.values()), self._sizes[storage]) for storage, parts in self._read.items()}

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - an operator of torch, which has no public type
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Note the inputs of an operator, and compute it."""
        del types
        output = func(*args, **(kwargs or {}))
        given = [tensor for tensor in _tensors(args) if tensor.is_floating_point()]
        storages = {_storage(tensor) for tensor in given}
        made = [tensor for tensor in _tensors(output) if _storage(tensor) not in storages]
        for tensor in given if made else ():  # a view reads nothing
            if _storage(tensor) not in self._made:
                lookup = func.overloadpacket in _LOOKUPS
                self._note(tensor, sum(result.numel() for result in made) if lookup else tensor.numel())
        self._made |= {_storage(tensor): tensor for tensor in made}  # held, so that no address is used again
        return output

    def _note(self, tensor: Tensor, numbers: int) -> None:
        parts = self._read.setdefault(_storage(tensor), {})
        parts[tensor.data_ptr()] = max(parts.get(tensor.data_ptr(), 0), numbers)
        self._sizes[_storage(tensor)] = tensor.untyped_storage().nbytes() // tensor.element_size()


def _tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _storage(tensor: Tensor) -> int:
    """Address of the storage, shared by all views of it."""
    return tensor.untyped_storage().data_ptr()
