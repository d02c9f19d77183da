"""The machine itself: speed of large matrix products and of memory, and energy.

Speed is measured in the same turns as the models, so that a model's share of it is one of the same minute. Energy is
that of the whole machine, other processes included: RAPL packages in sysfs, and NVIDIA GPUs by NVML. A RAPL counter
wraps around at `max_energy_range_uj`, about an hour at 70 W, so that it is read now and then.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, final

import torch
from torch import nn

from sumpool.bench.measures.timing import Work
from sumpool.core.nn.quantization import Precision, quantize

READ, COPY = "memory read", "memory copied"
SIDE = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the matrices; larger ones are no faster."""
BUFFER = {"cpu": 2**28, "cuda": 2**30}
"""Bytes of the buffer, larger than caches."""
NOT_SHOWN = "not shown by this kernel"
"""Printed where there is no counter."""
NOT_READABLE = "readable by root only"
_ENERGY, _RANGE = "energy_uj", "max_energy_range_uj"


class Probe(NamedTuple):
    """Work whose speed only the machine decides, and its operations or bytes; a copy reads and writes each byte."""

    work: Work
    amount: int


def product_name(precision: str) -> str:
    """Name of the matrix product in a precision."""
    return f"{precision} products"


def probes(device: torch.device, precisions: Sequence[Precision]) -> dict[str, Probe]:
    """Prepare the probes of a device, buffers included, with a matrix product for each of the precisions."""
    side = SIDE[device.type]
    machine: dict[str, Probe] = {}
    for precision in dict.fromkeys(precisions):
        machine[product_name(precision)] = Probe(_product(side, precision, device), 2 * side**3)
    buffer = torch.ones(BUFFER[device.type] // 4, device=device)
    copied = torch.ones_like(buffer)
    machine[READ] = Probe(buffer.sum, 4 * buffer.numel())
    machine[COPY] = Probe(partial(copied.copy_, buffer), 2 * 4 * buffer.numel())
    return machine


def _product(side: int, precision: Precision, device: torch.device) -> Work:
    if precision == "int8":  # as a layer: torch has no plain product of integers
        layer = nn.Sequential(nn.Linear(side, side, bias=False, device=device)).eval().requires_grad_(False)
        quantize(layer, "int8")
        return partial(layer, torch.randn(side, side, device=device))
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    return partial(torch.mm, left, right, out=torch.empty_like(left))


POWERCAP = Path("/sys/class/powercap")
_PACKAGE = re.compile(r"intel-rapl:\d+")
"""Folder of a top-level domain; `intel-rapl:0:1` is a part of one, and `intel-rapl-mmio` shows the packages again."""
Counter = Callable[[], int]


@final
class EnergyMeter:
    """Joules since it was made.

    Attributes:
        problem: Why there is no counter; empty if there is one.
    """

    def __init__(self, powercap: Path = POWERCAP) -> None:
        """Begin with the counters of now."""
        self.problem = ""
        self._ranges: dict[str, int] = {}
        self._counters = {**self._packages(powercap), **_gpus()}
        if not self._counters:
            self.problem = self.problem or NOT_SHOWN
        self._last = {name: read() for name, read in self._counters.items()}
        self._spent = dict.fromkeys(self._counters, 0.0)

    def sample(self) -> float | None:
        """Read the counters; returns the joules so far, None without a counter."""
        for name, read in self._counters.items():
            now = read()
            difference = now - self._last[name]
            if difference < 0:  # wrapped around since the last reading
                difference += self._ranges[name]
            self._spent[name] += difference / 1e6
            self._last[name] = now
        return sum(self._spent.values()) if self._counters else None

    def _packages(self, powercap: Path) -> dict[str, Counter]:
        counters: dict[str, Counter] = {}
        folders = sorted(powercap.glob("intel-rapl:*")) if powercap.is_dir() else []
        for folder in (folder for folder in folders if _PACKAGE.fullmatch(folder.name)):
            try:
                if not (folder / "name").read_text().startswith("package"):
                    continue
                _read_counter(folder / _ENERGY)
                self._ranges[folder.name] = _read_counter(folder / _RANGE)
            except PermissionError:
                self.problem = NOT_READABLE
                continue
            except (OSError, ValueError):  # a domain that is disabled
                continue
            counters[folder.name] = partial(_read_counter, folder / _ENERGY)
        return counters


def _read_counter(path: Path) -> int:
    return int(path.read_text())


def _gpus() -> dict[str, Counter]:
    """Total energy of each GPU in microjoules, where pynvml is installed and the GPU counts it."""
    if find_spec("pynvml") is None:
        return {}
    nvml = import_module("pynvml")
    counters: dict[str, Counter] = {}

    def read(handle: object) -> int:
        return 1000 * int(nvml.nvmlDeviceGetTotalEnergyConsumption(handle))  # millijoules

    try:
        nvml.nvmlInit()
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
            counters[f"gpu:{index}"] = partial(read, handle)
    except nvml.NVMLError:  # no driver, or a GPU older than Volta
        return counters
    return counters
