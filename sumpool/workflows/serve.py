"""`sumpool serve`: load a model and answer requests until a signal comes."""

import ctypes
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from sumpool.inference.loading import load_for_generation
from sumpool.inference.summarizer import Summarizer
from sumpool.service.app import build_app
from sumpool.service.config import ServiceLimits

_GRACE = 30
"""Seconds that requests have to end after a signal."""
_M_ARENA_MAX = -8
"""Parameter of glibc's mallopt: the greatest number of heaps."""


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket.

    Raises:
        OSError: If the address is not one of this machine, or the port is taken.
    """
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def serve_model(
    model: Path | None,
    listener: socket.socket,
    *,
    overrides: Sequence[str] = (),
    limits: ServiceLimits,
    token: str = "",
    hosts: Sequence[str] = ("*",),
    ready: Callable[[str], None],
) -> None:
    """Serve a model on a listening socket until SIGINT or SIGTERM; requests that run are answered.

    Args:
        model: Run folder; None takes the newest run, or the shipped model.
        listener: The socket.
        overrides: Settings of the recipe to change.
        limits: What a client may ask for.
        token: Token that requests must have; empty asks for none.
        hosts: Names under which the service may be addressed.
        ready: Called with the address when the model is loaded.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting is wrong.
    """
    share_one_heap()
    loaded = load_for_generation(model, overrides)
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    app = build_app(Summarizer(loaded), loaded.recipe.name, parameters, limits=limits, token=token, hosts=hosts)
    host, port = listener.getsockname()[:2]
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE, server_header=False
    )
    uvicorn.Server(config).run(sockets=[listener])


def share_one_heap() -> None:
    """Make threads that start from now on allocate from one heap, where the C library is glibc.

    By default threads have heaps of their own, each of which keeps the memory that its thread has freed. One thread at
    a time computes here, and hardly waits for the others.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
