"""Where a benchmark ran: without it no figure means anything."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import torch

from sumpool import __version__
from sumpool.training.memory import physical

_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine:
    """The hardware and how much of it is used.

    Attributes:
        system: Operating system and its version.
        processor: Name of the processor as the system gives it.
        cores: Processors that this process may run on.
        threads: Threads that torch uses for one operation.
        memory: Bytes of main memory.
        accelerator: Name of the GPU in use; empty without one.
        accelerator_memory: Bytes of the GPU's memory.
    """

    system: str
    processor: str
    cores: int
    threads: int
    memory: int
    accelerator: str = ""
    accelerator_memory: int = 0


def describe(device: torch.device) -> Machine:
    """Describe this machine as far as work on `device` is concerned."""
    accelerator, accelerator_memory = "", 0
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        accelerator, accelerator_memory = properties.name, properties.total_memory
    affinity = getattr(os, "sched_getaffinity", None)
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=_processor(),
        cores=len(affinity(0)) if affinity else os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        memory=physical(),
        accelerator=accelerator,
        accelerator_memory=accelerator_memory,
    )


def versions() -> dict[str, str]:
    """Versions of what the figures depend on."""
    found = {"sumpool": __version__, "python": platform.python_version(), "torch": torch.__version__}
    return found | ({"cuda": torch.version.cuda} if torch.version.cuda else {})


def _processor() -> str:
    """Name the processor; `platform.processor` is empty on most Linux systems."""
    if _CPUINFO.exists():
        for line in _CPUINFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
