"""The application: routes, their errors, metrics and access log."""

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, final
from uuid import uuid4

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sumpool import __version__
from sumpool.data.sources import RfcSourceConfig
from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError, ResourceError, SumpoolError
from sumpool.inference.summarizer import Summarizer
from sumpool.inference.summary import Summary
from sumpool.service.chat import ROUTE, add_chat, error_answer
from sumpool.service.protection import ServiceLimits, guard
from sumpool.service.requests import Batcher, QueueFullError, ReadRequest, RequestReader, summaries_of
from sumpool.service.schemas import (
    ErrorAnswer,
    ModelAnswer,
    ModelAnswers,
    SummaryAnswer,
    SummaryAnswers,
    SummaryOptions,
    SummaryRequest,
)

_STATUS: dict[type[Exception], int] = {RecipeError: 422, DataError: 422, QueueFullError: 429, ResourceError: 503}
_PAGE = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
_SAMPLE = 2587
"""Number of the bundled RFC that the page offers."""
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_REQUEST_ID = "X-Request-ID"
_ID = re.compile(r"[\w.:+/=-]{1,128}", re.ASCII)
_LOG = logging.getLogger(__name__)
_BUG = "this is a bug in sumpool; the service continues"

_WRONG: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer} for status in (400, 401, 403, 408, 413, 415, 422, 429, 503)
}
_FORM = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "A document; several files may be sent."},
        **{
            name: SummaryRequest.model_json_schema()["properties"][name]
            for name in SummaryRequest.model_fields
            if name != "texts"
        },
    },
}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": SummaryRequest.model_json_schema()},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {"schema": _FORM},
        },
    }
}


class _Metrics:
    """Counters of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.answers = Counter("sumpool_answers", "Answers by status", ["status"], registry=self.registry)
        self.documents = Counter("sumpool_documents", "Documents that were summarised", registry=self.registry)
        self.seconds = Histogram(
            "sumpool_seconds",
            "Seconds that a request waits for its summaries",
            buckets=(0.1, 0.3, 1, 3, 10, 30, 100),
            registry=self.registry,
        )
        self.waiting = Gauge("sumpool_waiting", "Requests that wait for the model", registry=self.registry)


def build_app(
    summarizer: Summarizer,
    name: str,
    parameters: int,
    *,
    limits: ServiceLimits = ServiceLimits(),  # noqa: B008 - frozen
    token: str = "",
    hosts: Sequence[str] = ("*",),
    log: Callable[[str], object] | None = None,
) -> FastAPI:
    """Build the application.

    Args:
        summarizer: The model.
        name: Its name.
        parameters: Its number of parameters.
        limits: What a client may ask for.
        token: Token that every request must have; empty asks for none.
        hosts: Names under which the service may be addressed, so that no web page reaches it by another one.
        log: Takes a line of JSON for each request; None logs none.
    """

    def summarize(documents: Sequence[Document], options: SummaryOptions) -> list[Summary]:
        chosen = options.model_dump(exclude={"together"})  # they are one document already
        results: list[Summary] = summarizer.summarize(documents, **chosen)
        return results

    metrics = _Metrics()
    started = int(time.time())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.batcher = Batcher(summarize, limits.batch_documents)
        metrics.waiting.set_function(lambda: app.state.batcher.waiting)
        task = asyncio.create_task(app.state.batcher.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    # The pages of documentation that FastAPI has load scripts from elsewhere, and its schema is open to all.
    app = FastAPI(
        title="sumpool",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(guard(token, hosts))],
    )
    app.add_middleware(AccessLog, write=log)
    _add_errors(app, metrics)
    _add_pages(app, metrics, limits)
    reader = RequestReader(limits)
    read = Depends(reader.read)

    def answered() -> None:
        metrics.documents.inc()
        metrics.answers.labels(200).inc()

    add_chat(app, summarizer, name, reader, answered)

    @app.post("/v1/summaries", responses=_WRONG, openapi_extra=_BODY)
    async def summaries(request: Request, asked: Annotated[ReadRequest, read]) -> SummaryAnswers:
        """Summarise texts in JSON, or files of any format that `sumpool summarize` reads: in a form, or one as body."""
        try:
            with metrics.seconds.time():
                results = await summaries_of(request, *asked, limits)
        except asyncio.CancelledError:  # the grace of a signal is over
            raise ResourceError("the service has been stopped; try again later") from None
        if len(results) == 1 and results[0].reason:
            raise DataError(results[0].reason)
        metrics.documents.inc(len(results))
        metrics.answers.labels(200).inc()
        return SummaryAnswers(summaries=list(map(SummaryAnswer.of, results, asked[0])))

    @app.post("/v1/summaries/stream", responses=_WRONG, openapi_extra=_BODY, response_class=EventSourceResponse)
    async def stream(request: Request, asked: Annotated[ReadRequest, read]) -> AsyncIterator[ServerSentEvent]:
        """Summarise the same as events: `summary` for each document as soon as it is there, or `error` at the end."""
        metrics.answers.labels(200).inc()
        async for event in _stream(request, asked, limits, metrics):
            yield event

    @app.get("/v1/models")
    async def models() -> ModelAnswers:
        """List the model, in the form of OpenAI's API."""
        return ModelAnswers(data=[ModelAnswer(id=name, created=started, parameters=parameters)])

    return app


async def _stream(
    request: Request, asked: ReadRequest, limits: ServiceLimits, metrics: _Metrics
) -> AsyncIterator[ServerSentEvent]:
    """Summarise documents one by one; the status is sent, so that errors are events."""
    documents, options = asked
    try:
        for document in documents:
            with metrics.seconds.time():
                (result,) = await summaries_of(request, [document], options, limits)
            metrics.documents.inc()
            yield ServerSentEvent(event="summary", data=SummaryAnswer.of(result, document))
    except (HTTPException, asyncio.CancelledError):  # the client has gone, or the grace of a signal is over
        return
    except SumpoolError as error:
        yield ServerSentEvent(event="error", data=ErrorAnswer(error=str(error)))
    except Exception:
        _LOG.exception("a stream of summaries has failed")
        yield ServerSentEvent(event="error", data=ErrorAnswer(error=_BUG))


def _add_errors(app: FastAPI, metrics: _Metrics) -> None:
    """Answer every error with one sentence."""

    def answer(request: Request, status: int, reason: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
        is_chat = getattr(request.scope.get("route"), "path", "") == ROUTE
        metrics.answers.labels(status).inc()
        retry = {"Retry-After": "5"} if status in (429, 503) else {}
        # The rest of a body that is refused is not waited for.
        body = error_answer(status, reason) if is_chat else {"error": reason}
        return JSONResponse(body, status, {"Connection": "close", **retry, **(headers or {})})

    @app.exception_handler(SumpoolError)
    async def known(request: Request, error: SumpoolError) -> JSONResponse:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
        return answer(request, status, str(error))

    @app.exception_handler(ValidationError)
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: ValidationError | RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        location = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
        return answer(request, 422, f"{location or 'the body'}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        return answer(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(Exception)
    async def unknown(request: Request, _: Exception) -> JSONResponse:
        return answer(request, 500, _BUG)


@cache
def _read_sample() -> str:
    example = RfcSourceConfig().example(_SAMPLE)
    assert example is not None
    return example.document


def _add_pages(app: FastAPI, metrics: _Metrics, limits: ServiceLimits) -> None:
    """Add the web page, and what monitoring reads."""
    folder = files("sumpool.service")

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Say that the service is up."""
        return {"status": "ok"}

    @app.get("/metrics", response_class=Response)
    async def read_metrics() -> Response:
        """Metrics in the format of Prometheus."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/openapi.json", include_in_schema=False)
    async def schema(request: Request) -> dict[str, Any]:
        """Show the schema of the API, with the path that a proxy has for the service."""
        return {**app.openapi(), "servers": [{"url": request.scope.get("root_path") or "/"}]}

    @app.get("/sample.txt", include_in_schema=False, response_class=Response)
    def sample() -> Response:
        """Show a bundled document, which the page offers to those who have none at hand."""
        return Response(_read_sample(), media_type="text/plain")

    for path, (file, kind) in _PAGE.items():
        # The page refuses a long document itself: a browser shows no answer that comes while it still sends.
        content = (folder / file).read_bytes().replace(b"$max_bytes", b"%d" % limits.body_bytes)
        headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"}

        def show(content: bytes = content, kind: str = kind, headers: dict[str, str] = headers) -> Response:
            return Response(content, media_type=kind, headers=headers)

        app.add_api_route(path, show, include_in_schema=False, response_class=Response)


@final
@dataclass(frozen=True)
class AccessLog:
    """Middleware that writes time, id, client, method, path, status, bytes and seconds of each request.

    A proxy names a request by the header X-Request-ID; other requests are given an id. Queries are left out, since they
    hold the names of files.

    Attributes:
        app: The application.
        write: Takes each line; None writes none, but answers have ids.
    """

    app: ASGIApp
    write: Callable[[str], object] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and log it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(_REQUEST_ID, "")
        identity = given if _ID.fullmatch(given) else uuid4().hex
        entry: dict[str, object] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "id": identity,
            "client": (scope.get("client") or ("",))[0],
            "method": scope["method"],
            "path": scope["path"],
            "status": 499,  # as nginx, if the client goes before it is answered
            "bytes": 0,
        }
        size = 0

        async def pass_on(message: Message) -> None:
            nonlocal size
            if message["type"] == "http.response.start":
                entry["status"] = message["status"]
                MutableHeaders(scope=message)[_REQUEST_ID] = identity
            size += len(message.get("body", b""))
            await send(message)

        start = time.monotonic()
        try:
            await self.app(scope, receive, pass_on)
        finally:
            if self.write:
                entry |= {"bytes": size, "seconds": round(time.monotonic() - start, 3)}
                self.write(json.dumps(entry))
