"""Check deterministic costs of models against the budgets in `counts.json`: operations, kernel calls and bytes.

Kernel calls are what small models and decoder steps spend most of their time on. Bytes are those of torch's tensors at
the worst moment; scratch memory inside kernels is not seen. A cost may exceed its budget by `MARGIN`; --accept writes
the costs of today as budgets, to be committed with the change that they are due to.
"""

import json
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sumpool.bench.measures import count
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.recipe.load import load_recipe
from sumpool.special_tokens import PAD

HERE = Path(__file__).parent
BUDGETS = HERE / "counts.json"
ACCEPT = ".venv/bin/python .ci/counts.py --accept"
MARGIN = 0.02
"""Share by which a cost may exceed its budget."""
VOCABULARY = 4000
LAYERS = 6
RECIPES: dict[str, list[str]] = {
    "quickstart.yaml": [],
    "papers/arxiv/deep_pyramidion.yaml": [  # an eighth of everything but the layers
        "model.dim=96",
        "model.feed_forward=384",
        "model.source_length=1024",
        "model.encoder[2].pool.keep=256",
        "model.encoder[3].pool.keep=64",
        *(f"model.encoder[{layer}].attention.block=64" for layer in range(LAYERS)),
    ],
}
BEAMS = 2
TOKENS = 16
TARGET = 32


class Tally(TorchDispatchMode):
    """Mode that counts kernel calls and bytes.

    Attributes:
        calls: Kernel calls.
        held: Bytes of the tensors made inside that still exist.
        most: Maximum of `held`.
    """

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)  # mypy takes super().__init__ for a function without types
        self.calls = self.held = self.most = 0
        self._made: dict[int, weakref.ref[UntypedStorage]] = {}

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - an operator of torch, which has no public type
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        """Count one call and the tensors that it made."""
        del types
        settings = kwargs or {}
        with self:  # outside autograd a linear layer is one operator with its kernels inside
            parts = func.decompose(*args, **settings)
        if parts is not NotImplemented:
            return parts
        given = {storage._cdata for storage in _storages((args, settings))}
        output = func(*args, **settings)
        self.calls += 1
        for storage in _storages(output):
            if storage._cdata not in given and storage._cdata not in self._made:
                self._hold(storage)
        return output

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
    """Costs of encoding, training, generation and one step of it, on two documents of different lengths.

    Returns:
        Costs by name, such as `train operations`, `encode bytes` or `step calls`.
    """
    subject = Subject(config, conditions)
    documents = Documents.random(2, config.source_length, TARGET, conditions)
    documents.mask[1, config.source_length // 2 :] = False
    lengths = [config.source_length, config.source_length // 2]
    documents = replace(documents, ids=documents.ids.masked_fill(~documents.mask, PAD), lengths=lengths)
    memory = subject.encode(documents)
    works = {
        "encode": lambda: subject.encode(documents),
        "train": lambda: subject.train(documents),
        "generate": lambda: subject.write(memory, BEAMS, TOKENS),
        "longer": lambda: subject.write(memory, BEAMS, TOKENS + 1),
    }
    costs = {name: count_work(work) for name, work in works.items()}
    longer, shorter = costs.pop("longer"), costs["generate"]
    costs["step"] = {name: longer[name] - shorter[name] for name in ("operations", "calls")}
    return {f"{work} {name}": number for work, counts in costs.items() for name, number in counts.items()}


def count_work(work: Callable[[], object]) -> dict[str, int]:
    """Operations, bytes and kernel calls of a work, which runs twice: the first run fills caches."""
    operations = count(work)
    with Tally() as tally:
        work()
    return {"operations": operations, "bytes": tally.most, "calls": tally.calls}


def exceeded(budgets: Mapping[str, int], costs: Mapping[str, int]) -> list[str]:
    """One sentence for each cost that exceeds its budget by more than the margin, or has none."""
    sentences = []
    for name, cost in costs.items():
        if name not in budgets:
            sentences.append(f"{name} must have a budget, got {cost:,} without one")
        elif cost > budgets[name] * (1 + MARGIN):
            over = cost / budgets[name] - 1
            sentences.append(f"{name} must be at most {budgets[name]:,} (+{MARGIN:.0%}), got {cost:,} (+{over:.1%})")
    return sentences


def _storages(tree: object) -> list[UntypedStorage]:
    return [leaf.untyped_storage() for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def main(accept: bool) -> int:
    """Compare costs with their budgets, or make them the budgets."""
    costs = {name: _count(name, overrides) for name, overrides in RECIPES.items()}
    if accept:
        BUDGETS.write_text(json.dumps({"torch": torch.__version__.split("+")[0], **costs}, indent=1) + "\n")
        return 0
    budgets = json.loads(BUDGETS.read_text())
    over = [f"{name}: {line}" for name, counted in costs.items() for line in exceeded(budgets.get(name, {}), counted)]
    if over:
        last = f"{len(over)} costs exceed the budgets of .ci/counts.json; to accept them: {ACCEPT}"
        sys.stdout.write("\n".join([*over, last, ""]))
    return bool(over)


def _count(name: str, overrides: list[str]) -> dict[str, int]:
    model = load_recipe(HERE.parent / "recipes" / name, overrides).model
    return count_model(model, Conditions(VOCABULARY, torch.device("cpu"), torch.float32))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--accept"]))
