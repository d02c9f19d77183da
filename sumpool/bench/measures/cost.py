"""Counted operations: the same number on every machine, whatever else the machine does.

A multiplication and an addition are two operations. Matrix products count, attention included whatever kernel computes
it; a mask saves nothing. Softmax, normalisation, sorting, gathering and other element-wise work do not count. A fused
attention recomputes its scores in the backward pass, and that counts.
"""

from collections import Counter
from collections.abc import Callable, Mapping

import torch
from torch.utils.flop_counter import FlopCounterMode

from sumpool.bench.measures.timing import Work

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
