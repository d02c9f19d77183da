"""`sumpool serve`: summaries over HTTP."""

import ipaddress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sumpool.cli.options import Changes, Run, whole_number
from sumpool.errors import RecipeError, ResourceError

_LIBRARIES = ("fastapi", "uvicorn", "prometheus_client", "python_multipart")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


def serve(
    model: Run = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on; others than the loopback need --token-file.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", parser=whole_number("--port", 0, 65_535), help="Port; 0 takes a free one.")
    ] = 8000,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with a token that every request must have.")
    ] = None,
    max_bytes: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number("--max-bytes", 1, 2**40), help="Bytes of the body of a request at most."
        ),
    ] = 32 * 2**20,
    queue: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number("--queue", 1, 100_000), help="Requests that may wait for the model."
        ),
    ] = 64,
    changes: Changes = None,
) -> None:
    """Summarise over HTTP: a web page, and POST /v1/summaries with JSON or a file as the body.

    Listens on the loopback interface only unless --host is given. Nothing of a document is stored or logged. Stops at
    SIGINT or SIGTERM when the requests that run are answered. Needs the extra serve: pip install sumpool[serve].
    """
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise RecipeError(f"sumpool serve must have {missing[0]}, which is not installed: pip install 'sumpool[serve]'")
    token = _read_token(token_file) if token_file else ""
    local = _is_loopback(host)
    if not local and not token:
        raise RecipeError(f"--host must be a loopback address without --token-file, got {host}")
    from sumpool.service.config import ServiceLimits
    from sumpool.workflows.serve import listen, serve_model

    try:
        listener = listen(host, port)
    except OSError as error:
        raise ResourceError(f"--port must be free on {host}, got {port}: {error.strerror or error}") from error
    serve_model(
        model,
        listener,
        overrides=changes or (),
        limits=ServiceLimits(body_bytes=max_bytes, waiting=queue),
        token=token,
        hosts=(*_LOCAL, host) if local else ("*",),
        ready=lambda address: typer.echo(f"listening on {address}", err=True),
    )


def _read_token(file: Path) -> str:
    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"--token-file must be a readable file with a token, got {file}") from error
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise RecipeError(f"{file} must hold a token of at least 16 ASCII characters without spaces")
    return token


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
