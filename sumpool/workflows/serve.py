"""`sumpool serve`: load a model and answer requests until a signal comes."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from sumpool.inference.loading import load_for_generation
from sumpool.inference.summarizer import Summarizer
from sumpool.service.app import build_app
from sumpool.service.config import ServiceLimits

_GRACE = 30
"""Seconds that requests have to end after a signal."""


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
    loaded = load_for_generation(model, overrides)
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    app = build_app(Summarizer(loaded), loaded.recipe.name, parameters, limits=limits, token=token, hosts=hosts)
    host, port = listener.getsockname()[:2]
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE, server_header=False
    )
    uvicorn.Server(config).run(sockets=[listener])
