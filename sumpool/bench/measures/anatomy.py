"""What a model must do for a document, found without doing it: operations, lengths, and what a step must read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from sumpool.bench.measures.cost import count
from sumpool.bench.measures.dry import WithoutProducts
from sumpool.bench.systems.workload import Documents
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.core.pooling._base import Pooled
from sumpool.special_tokens import BOS

_LOOKUPS = {torch.ops.aten.embedding, torch.ops.aten.index_select, torch.ops.aten.index, torch.ops.aten.gather}
"""Operators that read no more than what they give."""


@dataclass(frozen=True)
class Anatomy:
    """One model and one document.

    Attributes:
        operations: Counted operations of reading it.
        layout: Vectors that leave each encoder layer.
        weights: Numbers among the weights that a step of the search reads, the vocabulary's included.
        kept: Numbers that a step reads of what is kept of the document: keys and values, and what a head copies from.
    """

    operations: int
    layout: tuple[int, ...]
    weights: int
    kept: int


def dissect(model: SummarizationModel, document: Documents, beams: int) -> Anatomy:
    """Look at a model with one document (batch of 1) and the first step of a search."""
    memories: list[Memory] = []
    pooled: dict[str, int] = {}

    def read() -> None:
        memories.append(model.encode(document.ids, document.mask, document.sentences))

    def note(number: str, pooler: nn.Module, given: object, found: Pooled) -> None:
        del pooler, given
        pooled[number] = found.tokens.mask.size(1)

    training = model.training
    model.eval()
    poolers = model.encoder.poolers
    hooks = [pooler.register_forward_hook(partial(note, number)) for number, pooler in poolers.items()]
    with torch.inference_mode(), WithoutProducts():
        operations = count(read)
        state = model.start(memories[0], beams)
        last = torch.full((beams,), BOS, device=document.ids.device)
        with _Reads() as reads:
            model.step(last, state)
    for hook in hooks:
        hook.remove()
    model.train(training)
    weights = {_storage(weights) for weights in model.parameters()}
    return Anatomy(
        operations,
        _layout(document.ids.size(1), len(model.encoder.layers), pooled),
        sum(numbers for storage, numbers in reads.numbers().items() if storage in weights),
        sum(numbers for storage, numbers in reads.numbers().items() if storage not in weights),
    )


def _layout(length: int, layers: int, pooled: Mapping[str, int]) -> tuple[int, ...]:
    """Say how many vectors leave each layer, given what was pooled after some, by number."""
    leaving = accumulate(range(layers), lambda before, number: pooled.get(str(number), before), initial=length)
    return tuple(leaving)[1:]


class _Reads(TorchDispatchMode):
    """Notes what is read of every tensor that was there before; what is read twice counts once."""

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)  # mypy takes super().__init__ for a function without types
        self._read: dict[int, dict[int, int]] = {}
        self._made: dict[int, Tensor] = {}
        self._sizes: dict[int, int] = {}

    def numbers(self) -> dict[int, int]:
        """How many numbers were read of each storage; its parts, such as keys and values, add up to all of it."""
        return {storage: min(sum(parts.values()), self._sizes[storage]) for storage, parts in self._read.items()}

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - an operator of torch, which has no public type
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Note what an operator is given, and let it compute."""
        del types
        found = func(*args, **(kwargs or {}))
        given = [tensor for tensor in _tensors(args) if tensor.is_floating_point()]
        storages = {_storage(tensor) for tensor in given}
        made = [tensor for tensor in _tensors((found,)) if _storage(tensor) not in storages]
        viewed = len(made) == 0  # a view reads nothing
        for tensor in () if viewed else given:
            if _storage(tensor) not in self._made:
                lookup = func.overloadpacket in _LOOKUPS
                self._note(tensor, sum(each.numel() for each in made) if lookup else tensor.numel())
        self._made |= {_storage(tensor): tensor for tensor in made}  # held, so that no place is given away again
        return found

    def _note(self, tensor: Tensor, numbers: int) -> None:
        parts = self._read.setdefault(_storage(tensor), {})
        parts[tensor.data_ptr()] = max(parts.get(tensor.data_ptr(), 0), numbers)
        self._sizes[_storage(tensor)] = tensor.untyped_storage().nbytes() // tensor.element_size()


def _tensors(values: Sequence[object]) -> list[Tensor]:
    """Find the tensors among values, those in lists of them too."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found


def _storage(tensor: Tensor) -> int:
    """Where in memory a tensor, and all others that share its numbers, begins."""
    return tensor.untyped_storage().data_ptr()
