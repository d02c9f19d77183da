"""Result of a suite, and the report around it: machine, versions and settings."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from sumpool import __version__
from sumpool.bench.results.table import Row, Table, text_table
from sumpool.bench.workload import NAMES, Conditions
from sumpool.training.hardware import physical

_CPUINFO = Path("/proc/cpuinfo")
SCHEMA = 3
"""Version of the JSON files."""
UNFINISHED = "a benchmark that is not finished keeps nothing"
"""Said after a signal."""


@dataclass(frozen=True)
class Result:
    """Measurements of one suite by kind, for JSON and pictures, what is printed of them, and other results by name."""

    rows: Mapping[str, Sequence[Row]]
    tables: Sequence[Table]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Machine:
    """Hardware, and how much of it is used; `memory` in bytes, the accelerator empty without a GPU."""

    system: str
    processor: str
    cores: int
    threads: int
    memory: int
    accelerator: str = ""
    accelerator_memory: int = 0


@dataclass(frozen=True)
class BenchReport:
    """A whole benchmark; the recipe is empty where none was needed, and the suite "model" for a recipe.

    `settings` are the `bench` section as used, and what else the figures depend on.
    """

    recipe: str
    suite: str
    machine: Machine
    versions: dict[str, str]
    device: str
    precision: str
    settings: dict[str, Any]
    result: Result

    def tables(self) -> list[Table]:
        """All tables, the machine first."""
        lines = [
            ("processor", self.machine.processor),
            ("cores, threads in use", f"{self.machine.cores}, {self.machine.threads}"),
            ("memory", f"{self.machine.memory / 2**30:.0f} GiB"),
            ("device", self.machine.accelerator or self.device),
            ("precision", self.precision),
            *self.versions.items(),
        ]
        kind = next(kind for kind in ("bench", "study") if kind in self.settings)
        return [text_table(f"{kind} of {self.recipe or self.suite}", ("machine", ""), lines), *self.result.tables]

    def to_json(self) -> str:
        """Everything, each single repetition included, as one JSON object."""
        rows = {kind: [row.to_json() for row in rows] for kind, rows in self.result.rows.items()}
        about = {name: getattr(self, name) for name in ("recipe", "suite", "versions", "device", "precision")}
        whole = {"schema": SCHEMA, **about, "machine": asdict(self.machine), "settings": self.settings}
        return json.dumps(whole | dict(self.result.facts) | rows, indent=2, ensure_ascii=False)


def make_report(
    recipe: str, suite: str, conditions: Conditions, settings: Mapping[str, Any], result: Result
) -> BenchReport:
    """Add everything that it takes to read the figures: the machine, versions and settings."""
    device, precision = conditions.device, NAMES[conditions.precision]
    return BenchReport(recipe, suite, describe(device), versions(), device.type, precision, dict(settings), result)


def describe(device: torch.device) -> Machine:
    """Describe this machine for work on `device`."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    system = f"{platform.system()} {platform.release()}"
    machine = Machine(system, _processor(), cores, torch.get_num_threads(), physical())
    if device.type != "cuda":
        return machine
    gpu = torch.cuda.get_device_properties(device)
    return replace(machine, accelerator=gpu.name, accelerator_memory=gpu.total_memory)


def versions() -> dict[str, str]:
    """Versions of the libraries that the figures depend on."""
    libraries = {"sumpool": __version__, "python": platform.python_version(), "torch": torch.__version__}
    return libraries | ({"cuda": torch.version.cuda} if torch.version.cuda else {})


def _processor() -> str:
    """Name the processor; `platform.processor` is empty on most Linux systems."""
    if _CPUINFO.exists():
        for line in _CPUINFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
