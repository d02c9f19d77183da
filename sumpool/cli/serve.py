"""`sumpool serve`: load a model and answer requests over HTTP until a signal comes."""

import gc
import socket
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sumpool.cli.options import RUN_HELP, Changes, whole_number
from sumpool.errors import RecipeError, ResourceError

_LIBRARIES = ("fastapi", "uvicorn", "prometheus_client", "python_multipart")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_GRACE = 30
"""Seconds that requests have to end after a signal."""


def serve(
    model: Annotated[Path | None, typer.Option(metavar="RUN", envvar="SUMPOOL_MODEL", help=RUN_HELP)] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            envvar="SUMPOOL_HOST",
            help="Address to listen on; others than the loopback need --token-file.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, whole_number("--port", "Port; 0 takes a free one.", 0, 65_535, envvar="SUMPOOL_PORT")] = 8000,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            envvar="SUMPOOL_HOST_NAME",
            help="Name under which a proxy passes requests on; may be repeated.",
        ),
    ] = None,
    root_path: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            envvar="SUMPOOL_ROOT_PATH",
            help="Path below which a proxy shows the service, such as /summaries, and which it removes.",
        ),
    ] = "",
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", envvar="SUMPOOL_TOKEN_FILE", help="File with a token that every request must have."
        ),
    ] = None,
    access_log: Annotated[
        bool,
        typer.Option(
            "--access-log",
            envvar="SUMPOOL_ACCESS_LOG",
            help="Write a line of JSON for each request to standard output: no texts, no names of files.",
        ),
    ] = False,
    max_bytes: Annotated[
        int,
        whole_number(
            "--max-bytes",
            "Bytes of the body of a request at most, also unpacked; its text may have a sixteenth of it.",
            1,
            2**40,
            envvar="SUMPOOL_MAX_BYTES",
        ),
    ] = 32 * 2**20,
    queue: Annotated[int, whole_number("--queue", "Requests that may wait.", 1, 100_000, envvar="SUMPOOL_QUEUE")] = 64,
    changes: Changes = None,
) -> None:
    """Summarise over HTTP: a web page, and POST /v1/summaries with JSON or a file as the body.

    Listens on the loopback interface only unless --host is given. Nothing of a document is stored or logged. Stops at
    SIGINT or SIGTERM when the requests that run are answered. Options can also be set in the environment, such as
    SUMPOOL_PORT=80. Needs the extra serve: pip install sumpool[serve].
    """
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise RecipeError(f"sumpool serve must have {missing[0]}, which is not installed: pip install 'sumpool[serve]'")
    from sumpool.documents.addresses import is_loopback

    token = ""
    if token_file:
        try:
            token = token_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise RecipeError(f"--token-file must be a readable file with a token, got {token_file}") from error
        if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
            raise RecipeError(f"{token_file} must hold a token of at least 16 ASCII characters without spaces")
    local = is_loopback(host)
    if not local and not token:
        raise RecipeError(f"--host must be a loopback address without --token-file, got {host}")
    import uvicorn

    from sumpool.inference.loading import load_for_generation
    from sumpool.inference.run_files import choose_model, describe_choice
    from sumpool.inference.summarizer import Summarizer
    from sumpool.runs.run_summary import summarize_run
    from sumpool.service.app import build_app
    from sumpool.service.protection import Connection, ServiceLimits, share_one_heap

    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise ResourceError(f"--port must be free on {host}, got {port}: {error.strerror or error}") from error
    share_one_heap()
    folder = choose_model(model)
    loaded = load_for_generation(folder, changes or ())
    parameters = summarize_run(folder).parameters or 0  # of the file, as quantized layers have none
    limits = ServiceLimits(
        body_bytes=max_bytes, characters=max(1, max_bytes // 16), held_bytes=4 * max_bytes, waiting=queue
    )
    names = (*_LOCAL, host, *(host_name or ())) if local or host_name else ("*",)
    log = partial(print, flush=True) if access_log else None
    app = build_app(
        Summarizer(loaded), folder.resolve().name, parameters, limits=limits, token=token, hosts=names, log=log
    )
    # Else each of the event loop's calls of the system costs 5 ms while other threads compute.
    sys.setswitchinterval(0.0005)
    gc.freeze()  # what is collected between requests is theirs
    address, number = listener.getsockname()[:2]
    typer.echo(f"listening on http://{f'[{address}]' if ':' in address else address}:{number}/", err=True)
    typer.echo(f"model: {describe_choice(model)}", err=True)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_level="error",  # not every wrong request
        access_log=False,
        root_path=root_path.rstrip("/"),
        timeout_graceful_shutdown=_GRACE,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[listener])
