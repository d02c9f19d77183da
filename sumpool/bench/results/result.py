"""What a benchmark found, as plain values that JSON can hold."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sumpool.bench.results.machine import Machine
from sumpool.bench.results.table import Table

SCHEMA = 2
"""Of the files; 1 had no shares, steps and rates, and said nothing of itself."""


@dataclass(frozen=True)
class Found(ABC):
    """What one suite found."""

    @abstractmethod
    def tables(self) -> Iterable[Table]:
        """Lay it out."""


@dataclass(frozen=True)
class BenchReport:
    """A whole benchmark.

    Attributes:
        recipe: Name of the recipe; empty where none was needed.
        suite: "model", or the name of the suite.
        machine: Where it ran.
        versions: Of what it ran on, by name.
        device: "cpu" or "cuda".
        precision: "fp32", or "bf16" for products under autocast.
        settings: The `bench` section as used, and what else the figures depend on.
        found: What the suite found.
    """

    recipe: str
    suite: str
    machine: Machine
    versions: dict[str, str]
    device: str
    precision: str
    settings: dict[str, Any]
    found: Found

    def tables(self) -> list[Table]:
        """Lay out what was found, the machine first."""
        rows = [
            ("processor", self.machine.processor),
            ("cores, threads in use", f"{self.machine.cores}, {self.machine.threads}"),
            ("memory", f"{self.machine.memory / 2**30:.0f} GiB"),
            ("device", self.machine.accelerator or self.device),
            ("precision", self.precision),
            *self.versions.items(),
        ]
        return [Table(f"bench of {self.recipe or self.suite}", ("machine", ""), tuple(rows)), *self.found.tables()]

    def to_json(self) -> str:
        """Write everything, each single repetition included, as one JSON object."""
        whole = asdict(self)
        return json.dumps({"schema": SCHEMA} | whole | whole.pop("found"), indent=2, ensure_ascii=False)
