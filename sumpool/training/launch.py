"""Start of a training in several processes of this machine, by the elastic launcher of torchrun."""

import logging
import os
import signal
import sys
import uuid
from collections.abc import Sequence

from sumpool.errors import ResourceError
from sumpool.progress import Progress, Report

RESTARTS = 3
"""Starts after a kill, of one command."""
_STOPPED = 128 + signal.SIGTERM
_AFTER_A_KILL = (ResourceError.exit_code, _STOPPED)
"""Exit codes of the other processes: they notice the lost one, or the launcher's SIGTERM lets them save their work."""


def launched_processes() -> int:
    """Return the number of processes that torchrun has started this one with; 1 without torchrun."""
    text = os.environ.get("WORLD_SIZE", "").strip()
    return int(text) if text.isdecimal() else 1


def launch(devices: int, arguments: Sequence[str], report: Report) -> int:
    """Run sumpool in several processes, and start all again from the newest checkpoint if one of them is killed.

    Processes that end with an error of their own are not started again, as the same would happen.

    Args:
        devices: Number of processes, each with a GPU if there are any.
        arguments: Command line of each process.
        report: Progress callback, for notes.

    Returns:
        The exit code of the process that ended first with another one than 0; 128 and its number after a signal.

    Raises:
        ResourceError: If processes are killed again and again.
    """
    # torch.distributed.elastic takes a second to import.
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    for name in [name for name in logging.root.manager.loggerDict if name.startswith("torch.distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the processes print their errors
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // devices)))
    killed_by = 0
    for restart in range(RESTARTS + 1):
        if restart:
            name = signal.Signals(killed_by).name
            report(Progress("train", note=f"a process was killed by {name}; restart {restart} of {RESTARTS}"))
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=devices,
            run_id=uuid.uuid4().hex,
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            local_addr="localhost",
            max_restarts=0,
        )
        try:
            elastic_launch(config, sys.executable)("-m", "sumpool", *arguments)
        except SignalException as stop:
            return 128 + stop.sigval
        except ChildFailedError as error:
            codes = [failure.exitcode for failure in error.failures.values()]
            killed_by = max((-code for code in codes if code < 0 and -code != signal.SIGTERM), default=0)
            errors = [code for code in codes if code > 0 and not (killed_by and code in _AFTER_A_KILL)]
            if errors or not killed_by:
                return min(errors, default=_STOPPED)
        else:
            return 0
    raise ResourceError(
        f"all processes of a training must run until its end, but one was killed by {signal.Signals(killed_by).name} "
        f"in {RESTARTS + 1} starts: if memory ran out, lower train.batch_tokens; the same command goes on"
    )
