"""Ray: a cluster of this machine, or the address of a running one."""

import os
import signal
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from sumpool.errors import RecipeError, ResourceError, first_line
from sumpool.io.atomic import disk_errors

LOCAL: Final = "local"
"""Address that stands for a cluster of this machine, started for the command."""

LOG: Final = "ray.log"
"""Name of the file with what Ray prints, such as why a worker died."""

_STORE_BYTES: Final = 100 * 2**20
"""Shared memory of a local cluster: parts and results, which are a few hundred bytes each, or a megabyte of tokens."""
_CONNECT_SECONDS: Final = 10.0
_ENVIRONMENT: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Nothing is sent over the network but between the machines of the cluster."""


class Cluster(NamedTuple):
    """Cluster of a command.

    Attributes:
        address: "local", or the address of a cluster: "auto" or "host:port".
        workers: Processes that work; None takes one per GPU, or per core if there are no GPUs.
        log: File of what Ray prints.
    """

    address: str
    workers: int | None
    log: Path


class Resources(NamedTuple):
    """Number of workers, and cores and GPUs of each."""

    workers: int
    cores: int
    gpus: int


def require_ray() -> None:
    """Check that Ray is installed.

    Raises:
        RecipeError: If it is not.
    """
    if find_spec("ray") is None:
        raise RecipeError("--ray must have Ray, which is not installed: pip install 'sumpool[ray]'")


def connect(cluster: Cluster) -> None:
    """Connect this process to a cluster until it ends; Ray may end it at any time, and prints to the log.

    Raises:
        ResourceError: If there is no cluster at the address, none can be started, or the log cannot be written.
    """
    _print_to(cluster.log)
    if sys.platform != "win32":  # the command decides on Ctrl-C; Ray ends its processes by SIGTERM
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray

    local = {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
    try:
        _require_listener(cluster.address)
        ray.init(cluster.address, log_to_driver=False, **(local if cluster.address == LOCAL else {}))
    except (RuntimeError, ValueError, OverflowError, OSError) as error:
        raise ResourceError(
            f"--ray must be local or the address of a cluster, got {cluster.address!r}: {first_line(error)}; "
            f"{cluster.log} may have more"
        ) from error


def divide_resources(workers: int | None, *, uses_gpus: bool) -> Resources:
    """Divide the cluster that this process is connected to among workers.

    Args:
        workers: Number of workers; None takes one per GPU, or per core if there are no GPUs.
        uses_gpus: Whether workers use GPUs if there are any.
    """
    import ray

    total = ray.cluster_resources()
    gpus, cores = int(total.get("GPU", 0)) if uses_gpus else 0, int(total.get("CPU", 1))
    workers = workers or gpus or cores
    largest = max(int(node["Resources"].get("CPU", 1)) for node in ray.nodes() if node["Alive"])
    return Resources(workers, max(1, min(cores // workers, largest)), 1 if workers <= gpus else 0)


def _print_to(path: Path) -> None:
    """Write what this process prints, also outside Python, to a file."""
    with disk_errors(path), path.open("ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)


def _require_listener(address: str) -> None:
    """Check that something listens at `host:port`, where Ray would try for minutes.

    Raises:
        OSError: If nothing does.
    """
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
