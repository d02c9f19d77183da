"""What work costs in numbers that come out the same every time, so that the least growth can be told from noise.

Operations are those of `cost`. Calls are those that torch's kernels get, one by one: what a small model or a decoder
step spends most of its time on. Bytes are what torch's tensors held at the worst moment; what a kernel takes for
itself is not seen.
"""

import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sumpool.bench.measures.cost import count
from sumpool.bench.measures.timing import Work
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.special_tokens import PAD

Counts = Mapping[str, int]
"""Costs by name, such as `train calls addmm`."""
BEAMS = 2
TOKENS = 16
TARGET = 32


class Tally(TorchDispatchMode):
    """Inside, calls and bytes are counted.

    Attributes:
        calls: Of each kernel.
        held: Bytes of the tensors made inside that are still there.
        most: What that was at most.
    """

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)  # mypy takes super().__init__ for a function without types
        self.calls: Counter[str] = Counter()
        self.held = self.most = 0
        self._made: dict[int, weakref.ref[UntypedStorage]] = {}

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - an operator of torch, which has no public type
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        """Note one call and what it made."""
        del types
        settings = kwargs or {}
        with self:  # outside autograd a linear layer comes as one operator, and holds its kernels inside
            parts = func.decompose(*args, **settings)
        if parts is not NotImplemented:
            return parts
        given = {storage._cdata for storage in _storages((args, settings))}
        found = func(*args, **settings)
        self.calls[func.overloadpacket.__name__] += 1
        for storage in _storages(found):
            if storage._cdata not in given and storage._cdata not in self._made:
                self._hold(storage)
        return found

    def _hold(self, storage: UntypedStorage) -> None:
        """Count a new storage until it is freed."""
        number, size = storage._cdata, storage.nbytes()

        def free(_: object) -> None:
            self.held -= size
            del self._made[number]

        self._made[number] = weakref.ref(storage, free)
        self.held += size
        self.most = max(self.most, self.held)


def count_model(config: ModelConfig, conditions: Conditions) -> dict[str, int]:
    """Count reading, training, writing and a step of it, on two documents, one of them half as long as the other."""
    subject = Subject(config, conditions)
    documents = Documents.random(2, config.source_length, TARGET, conditions)
    documents.mask[1, config.source_length // 2 :] = False
    documents = replace(documents, ids=documents.ids.masked_fill(~documents.mask, PAD))
    memory = subject.read(documents)
    works = {
        "encode": lambda: subject.encode(documents),
        "train": lambda: subject.train(documents),
        "write": lambda: subject.write(memory, BEAMS, TOKENS),
        "longer": lambda: subject.write(memory, BEAMS, TOKENS + 1),
    }
    found = {name: count_work(work) for name, work in works.items()}
    longer, shorter = found.pop("longer"), found["write"]
    found["step"] = {name: longer[name] - shorter.get(name, 0) for name in longer if name != "bytes"}
    return {f"{work} {name}": number for work, counts in found.items() for name, number in counts.items() if number}


def count_work(work: Work) -> dict[str, int]:
    """Run the work twice, first for its operations: what it keeps from its first run counts nowhere else."""
    operations = count(work)
    with Tally() as tally:
        work()
    calls = {f"calls {kernel}": number for kernel, number in sorted(tally.calls.items())}
    return {"operations": operations, "bytes": tally.most, "calls": tally.calls.total(), **calls}


def differences(before: Counts, now: Counts) -> list[str]:
    """Say what grew and what shrank, one sentence each; nothing where all is as before."""
    sentences = []
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name, 0), now.get(name, 0)
        if old != new:
            share = f" ({(new - old) / old:+.1%})" if old else ""
            sentences.append(f"{name} {'grew' if new > old else 'shrank'} from {old:,} to {new:,}{share}")
    return sentences


def _storages(tree: object) -> list[UntypedStorage]:
    return [leaf.untyped_storage() for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
