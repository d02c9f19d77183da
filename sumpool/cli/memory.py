"""Memory that a command lacks: its limit before libraries are loaded, and advice after memory ran out."""

import os
import sys
from typing import Final

from sumpool.errors import ResourceError, advise_smaller_batches

ADVICE: Final = {
    "prepare": "prepare with fewer processes (--set data.workers=1) or a smaller data.vocabulary",
    "train": advise_smaller_batches(),
    "summarize": "select sentences without the model (--fast), or read less (--set summarize.batch_tokens=1024)",
    "evaluate": "read less at once (--set summarize.batch_tokens=1024)",
    "bench": "measure shorter documents (--length) or smaller batches (--set bench.batch=1)",
    "import": "close other programs, or import a smaller model",
    "export": "close other programs",
    "prune": "take shorter batches (--set train.batch_tokens=4096)",
}
"""What to do about missing memory, by commands that load PyTorch."""
_LIBRARIES = 1 << 30
_THREAD = 256 << 20
"""Address space of PyTorch and the libraries beside it, and of each of its threads."""


def require_address_space(command: str) -> None:
    """Check the limit of address space, with too little of which libraries abort or loop instead of failing.

    Raises:
        ResourceError: If the limit is too low for the command.
    """
    if command not in ADVICE or sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = _LIBRARIES + _THREAD * _threads()
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise ResourceError(
            f"the limit of address space must be at least {needed // 1024:,} KiB for sumpool {command}, got "
            f"{limit // 1024:,} KiB: raise it (ulimit -v), or use fewer threads (OMP_NUM_THREADS=1)"
        )


def out_of_memory(command: str, reason: str) -> str:
    """Return the message for memory that ran out in a command; empty if it is not known."""
    place = f" in sumpool {command}" if command else ""
    return f"error: memory ran out{place} ({reason}); {ADVICE.get(command, 'close other programs')}"


def _threads() -> int:
    """Number of threads that libraries start."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return int(wanted) if wanted.isdecimal() and wanted != "0" else os.cpu_count() or 1
