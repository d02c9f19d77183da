"""Measures: seconds in turns, their statistics, speed of the machine, and counted operations.

Works that are compared take turns in one process (A B C A B C ...): a slow minute of the machine slows all of them, and
ratios hold. Medians are reported with their spread, because single figures on a shared machine drift by a third. The
machine's own speed is measured in the same turns, so that a model's share of it is one of the same minute.

Counted operations are the same on every machine. A multiplication and an addition are two. Matrix products count,
attention included whatever kernel computes it; a mask saves nothing, and element-wise work does not count. A fused
attention recomputes its scores in the backward pass, and that counts. With `SkipMatmul` shapes flow through a model
and nearly nothing is computed, while the counter still sees every product. Unlike on torch's meta device, code that
looks at values still runs, such as an attention that skips blocks of padding.
"""

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from sumpool.bench.workload import Documents
from sumpool.core.model.encoder import Memory
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.quantization import Precision, quantize
from sumpool.core.pooling._base import Pooled
from sumpool.progress import Check, no_op
from sumpool.special_tokens import BOS

Work = Callable[[], object]
"""One repetition of what is measured; the result is discarded."""
Name = TypeVar("Name", bound=Hashable)

READ, COPY = "memory read", "memory copied"
SIDE = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the matrices; larger ones are no faster."""
BUFFER = {"cpu": 2**28, "cuda": 2**30}
"""Bytes of the buffer, larger than caches."""
ALL = "Global"
"""torch's name for everything that was counted."""
Operations = Counter[str]
"""`maps` of linear maps, vectors times learned weights; `products` of all others: scores, mixing, and hashing."""
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
_LOOKUPS = {torch.ops.aten.embedding, torch.ops.aten.index_select, torch.ops.aten.index, torch.ops.aten.gather}
"""Operators that read no more than they return."""


@dataclass(frozen=True)
class Timing:
    """Seconds of every counted repetition, in the order measured; at least one."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the repetitions, in seconds."""
        return statistics.median(self.seconds)

    @property
    def fastest(self) -> float:
        """Fastest repetition, in seconds."""
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest over fastest repetition: 1 is a quiet machine, above 1.5 nothing should be concluded."""
        return max(self.seconds) / max(self.fastest, 1e-9)


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has finished; a no-op on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def clock(work: Work, device: torch.device) -> float:
    """Seconds of one repetition."""
    synchronize(device)
    start = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - start


def interleave(
    tasks: Mapping[Name, Work], repeats: int, device: torch.device, check: Check = no_op, enough: float = math.inf
) -> dict[Name, Timing]:
    """Measure several tasks in turns, after one repetition of each that is not counted.

    Args:
        tasks: What to measure, by name.
        repeats: Counted repetitions of each.
        device: Where the works run.
        check: Called before every repetition; may raise to stop.
        enough: Counted seconds after which a work is not repeated again.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in tasks}
    for turn in range(repeats + 1):
        for name, work in tasks.items():
            if sum(seconds[name]) < enough:
                check()
                elapsed = clock(work, device)
                seconds[name] += [elapsed] if turn else []
    return {name: Timing(tuple(repetitions)) for name, repetitions in seconds.items()}


def probes(device: torch.device, precisions: Sequence[Precision]) -> dict[str, tuple[Work, int]]:
    """Prepare works whose speed only the machine decides, buffers included.

    Returns:
        A matrix product in each of the precisions, and reading and copying memory, each with its operations or bytes; a
        copy reads and writes each byte.
    """
    side = SIDE[device.type]
    machine: dict[str, tuple[Work, int]] = {}
    for precision in precisions:
        if precision == "int8":  # as a layer: torch has no plain product of integers
            layer = nn.Sequential(nn.Linear(side, side, bias=False, device=device)).eval().requires_grad_(False)
            quantize(layer, "int8")
            work: Work = partial(layer, torch.randn(side, side, device=device))
        else:
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
            work = partial(torch.mm, left, right, out=torch.empty_like(left))
        machine[f"{precision} products"] = work, 2 * side**3
    buffer = torch.ones(BUFFER[device.type] // 4, device=device)
    copied = torch.ones_like(buffer)
    machine[READ] = buffer.sum, 4 * buffer.numel()
    machine[COPY] = partial(copied.copy_, buffer), 2 * 4 * buffer.numel()
    return machine


def count(work: Work) -> int:
    """Run the work once and count its operations, those of its backward pass included."""
    return count_modules(work)[ALL].total()


def count_modules(work: Work) -> dict[str, Operations]:
    """Run the work once and count the operations of every module, by path from the outermost, and of `ALL`."""
    with FlopCounterMode(display=False, custom_mapping=dict(_CPU_ATTENTION)) as counter:
        work()
    operations: dict[str, Operations] = {}
    for path, kernels in ({ALL: {}} | counter.get_flop_counts()).items():
        # A batch of matrices is no linear map.
        maps = sum(kernels.get(kernel, 0) for kernel in (torch.ops.aten.mm, torch.ops.aten.addmm))
        operations[path] = Counter(maps=maps, products=sum(kernels.values()) - maps)
    return operations


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


_ZEROS: Mapping[object, Callable[..., object]] = {
    torch.ops.aten.mm: _matmul,
    torch.ops.aten.addmm: lambda _, left, right: _matmul(left, right),
    torch.ops.aten.bmm: _matmul,
    torch.ops.aten.baddbmm: lambda _, left, right: _matmul(left, right),
    # Mixed values, and log-sum-exps that only a backward pass reads.
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: lambda query, _, value, *__: (
        query.new_zeros((*query.shape[:-1], value.size(-1))),
        query.new_zeros(0),
    ),
}


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

    def note(layer: str, _pooler: nn.Module, _given: object, output: Pooled) -> None:
        pooled[layer] = output.tokens.mask.size(1)

    training = model.training
    model.eval()
    with ExitStack() as hooks, torch.inference_mode(), SkipMatmul():
        for layer, pooler in model.encoder.poolers.items():
            hooks.enter_context(pooler.register_forward_hook(partial(note, layer)))
        operations = count(read)
        state = model.start(memories[0], beams)
        with _Reads() as reads:
            model.step(torch.full((beams,), BOS, device=document.ids.device), state)
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
                numbers = sum(result.numel() for result in made) if lookup else tensor.numel()
                parts = self._read.setdefault(_storage(tensor), {})
                parts[tensor.data_ptr()] = max(parts.get(tensor.data_ptr(), 0), numbers)
                self._sizes[_storage(tensor)] = tensor.untyped_storage().nbytes() // tensor.element_size()
        self._made |= {_storage(tensor): tensor for tensor in made}  # held, so that no address is used again
        return output


def _tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _storage(tensor: Tensor) -> int:
    """Address of the storage, shared by all views of it."""
    return tensor.untyped_storage().data_ptr()
