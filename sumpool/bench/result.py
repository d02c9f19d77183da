"""What a benchmark found, as plain values that JSON can hold."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from sumpool.bench.growth import Growth
from sumpool.bench.machine import Machine
from sumpool.bench.timing import Timing


@dataclass(frozen=True)
class ModelRow:
    """One model at one work and one length.

    Attributes:
        work: "encode", "train" (forward and backward) or "generate" (encoding included).
        model: "model", or the name of its twin.
        length: Source tokens of each document.
        batch: Documents at once.
        timing: The repetitions; None where `note` says why there are none.
        memory: Peak bytes above those held before the work; None where that cannot be known.
        operations: Counted operations of one repetition.
        note: Why it was not measured; empty where it was.
    """

    work: str
    model: str
    length: int
    batch: int
    timing: Timing | None = None
    memory: int | None = None
    operations: int | None = None
    note: str = ""


@dataclass(frozen=True)
class GrowthRow:
    """How one cost of one model grows with length.

    Attributes:
        work: As in `ModelRow`.
        model: As in `ModelRow`.
        cost: "seconds", "bytes" or "operations".
        lengths: Where it was measured.
        growth: The fits.
    """

    work: str
    model: str
    cost: str
    lengths: tuple[int, ...]
    growth: Growth


@dataclass(frozen=True)
class OperatorRow:
    """One way of pooling random vectors by random scores.

    Attributes:
        operator: Name of the operator and of what is special about it.
        length: Vectors before.
        keep: Vectors after.
        batch: Documents at once.
        rounds: Rounds of the tournament.
        similarity: Mean over the `keep` best-scored vectors of the highest cosine to any vector that is left; 1 is
            exact top-k.
        published: The same figure as the authors of the operator report it; None where they do not.
        timing: Seconds of all rounds together.
    """

    operator: str
    length: int
    keep: int
    batch: int
    rounds: int
    similarity: float
    published: float | None
    timing: Timing


@dataclass(frozen=True)
class BenchReport:
    """A whole benchmark.

    Attributes:
        recipe: Name of the recipe.
        suite: "model" or "operators".
        machine: Where it ran.
        versions: Of what it ran on, by name.
        device: "cpu" or "cuda".
        precision: "fp32", or "bf16" for products under autocast.
        settings: The recipe's `bench` section as used, the model's settings, and the vocabulary.
        models: Rows of the suite "model", by work, then length, then model.
        growth: Fits of the suite "model".
        operators: Rows of the suite "operators".
    """

    recipe: str
    suite: str
    machine: Machine
    versions: dict[str, str]
    device: str
    precision: str
    settings: dict[str, Any]
    models: tuple[ModelRow, ...] = ()
    growth: tuple[GrowthRow, ...] = ()
    operators: tuple[OperatorRow, ...] = ()

    def to_json(self) -> str:
        """Write everything, each single repetition included, as one JSON object."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)
