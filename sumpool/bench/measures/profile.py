"""Costs of a model for one document without computing them: operations, lengths, and numbers that a step reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sumpool.bench.measures.cost import count
from sumpool.bench.measures.skip_matmul import SkipMatmul
from sumpool.bench.systems.workload import Documents
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.core.pooling._base import Pooled
from sumpool.special_tokens import BOS

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
