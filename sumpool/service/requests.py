"""Requests: reading their documents, waiting for the summaries, and the queues in front of the model.

Short and long requests have a queue each, which is summarised in batches by one thread.
"""

import asyncio
import time
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from itertools import islice
from pathlib import Path
from typing import Annotated, Final, final
from urllib.parse import parse_qsl

from fastapi import Query, Request
from starlette.datastructures import Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from sumpool.documents.document import Document, ReadOptions
from sumpool.documents.files import uncompressed_suffix
from sumpool.documents.read import join_documents, parse_documents
from sumpool.errors import RecipeError, ResourceError
from sumpool.inference.summary import Summary
from sumpool.io.bounded import parse_json
from sumpool.service.protection import ServiceLimits, return_memory
from sumpool.service.schemas import FileOptions, SummaryOptions, SummaryRequest

_POLL: Final = 0.25
"""Seconds between looks whether a client has gone."""
_READERS: Final = 2
"""Threads that read files and large bodies."""
_SMALL: Final = 2**18
"""Bytes of a body that waits for no large one."""
_MAX_ESCAPED: Final = 4 * 2**20
"""Bytes of a form in the encoding of addresses, whose escapes take a hundred times as many in memory."""
_BATCH_CHARACTERS: Final = 2**17
"""Characters of documents that are summarised together; a request with more is long."""
ReadRequest = tuple[list[Document], SummaryOptions]
"""Documents and options of a request."""
ParseBody = Callable[[bytes, SummaryOptions], ReadRequest]
"""Reads the documents and the options of a body, with the options beside it."""
Summarize = Callable[[Sequence[Document], SummaryOptions], list[Summary]]
"""Summarises documents, one result for each, in order."""


@final
class RequestReader:
    """Reads requests outside of the event loop, and counts what they hold until they are answered.

    Attributes:
        limits: What a client may ask for.
        parsers: Parsers of the bodies of routes that have a form of their own, by path.
    """

    def __init__(self, limits: ServiceLimits) -> None:
        self.limits = limits
        self.parsers: dict[str, ParseBody] = {}
        self._held: dict[Request, int] = {}
        self._waiting: set[Request] = set()
        self._threads = ThreadPoolExecutor(_READERS, "reading")

    async def read(self, request: Request, beside: Annotated[FileOptions, Query()]) -> AsyncIterator[ReadRequest]:
        """Yield the documents and options of a request; the dependency ends when it has been answered."""
        limits, is_small = self.limits, False
        try:
            body = await self._receive(request)
            if len(self._waiting) >= limits.waiting:
                raise QueueFullError(f"at most {limits.waiting:,} requests may wait, got one more; try again later")
            self._waiting.add(request)
            is_small = len(body) <= _SMALL and _type(request.headers) == "application/json"
            threads = None if is_small else self._threads
            loop = asyncio.get_running_loop()
            parse = self.parsers.get(request.scope["route"].path)
            reading = loop.run_in_executor(threads, _read, request.headers, body, beside, limits, parse)
            del body
            end = time.monotonic() + limits.seconds
            try:
                while not (await asyncio.wait([reading], timeout=_POLL))[0]:
                    await _require_client(request, end, f"the documents must be read within {limits.seconds:g} s")
                documents, options = reading.result()
            finally:
                reading.cancel()
            self._hold(request, sum(2 * len(document.text) for document in documents))
            yield documents, options
        finally:
            self._waiting.discard(request)
            self._held.pop(request, None)
            if not is_small:  # takes .2 s, in which nobody is answered
                return_memory()

    async def _receive(self, request: Request) -> bytes:
        """Read the body within its limits."""
        limits = self.limits
        too_long = HTTPException(413, f"the body must have at most {limits.body_bytes:,} bytes, got more")
        if request.headers.get("content-encoding", "identity") != "identity":
            raise HTTPException(415, "the body must not be compressed; send the file as it is")
        if int(request.headers.get("content-length", 0)) > limits.body_bytes:
            raise too_long
        parts, size = [], 0
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for part in request.stream():
                    parts.append(part)
                    size += len(part)
                    self._hold(request, size)
                    if size > limits.body_bytes:
                        raise too_long
        except TimeoutError:
            raise HTTPException(408, f"the body must come within {limits.body_seconds:g} s, got a part") from None
        except ClientDisconnect:
            raise HTTPException(400, "the body must be sent whole, got a part") from None
        return b"".join(parts)

    def _hold(self, request: Request, size: int) -> None:
        """Note the bytes that a request holds.

        Raises:
            QueueFullError: If they are many, and all requests together hold too many.
        """
        self._held[request] = size
        if size > _SMALL and sum(self._held.values()) > self.limits.held_bytes:
            raise QueueFullError(f"all requests may hold {self.limits.held_bytes:,} bytes, got more; try again later")


def _type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _read(
    headers: Headers,
    body: bytes,
    beside: FileOptions,
    limits: ServiceLimits,
    parse: ParseBody | None,
) -> ReadRequest:
    """Read the documents and the options of a request; the body goes before the options beside it."""
    options = SummaryRequest().options(beside)
    kind = _type(headers)
    documents: Iterable[Document]
    if parse:
        documents, options = parse(body, options)
    elif kind == "application/json":
        try:
            tree = parse_json(body.removeprefix(BOM_UTF8), max_values=limits.documents + 16)
        except ValueError as error:
            raise RecipeError(
                f"the body must be JSON with 1 to {limits.documents:,} documents, got: {error}"
            ) from error
        asked = SummaryRequest.model_validate(tree)
        if (asked.text is None) == (asked.texts is None):
            raise RecipeError("the body must have text or texts, got both or none")
        documents = asked.documents()
        options = asked.options(options)
    elif kind == "multipart/form-data":
        documents, options = asyncio.run(_read_form(headers, body, options, limits))
    elif kind == "application/x-www-form-urlencoded" and (pairs := _parse_pairs(headers, body)):
        documents, options = _read_fields(pairs, options, limits)
    else:
        documents = _read_file(beside.name, body, limits)
    documents = list(documents)
    if not 1 <= len(documents) <= limits.documents:
        raise RecipeError(f"a request must have 1 to {limits.documents:,} documents, got {len(documents):,}")
    if (characters := sum(len(document.text) for document in documents)) > limits.characters:
        raise HTTPException(413, f"the text must have at most {limits.characters:,} characters, got {characters:,}")
    return [join_documents(documents)] if options.together else documents, options


async def _read_form(headers: Headers, body: bytes, options: SummaryOptions, limits: ServiceLimits) -> ReadRequest:
    """Read a form: files in fields of any name, texts, and options; empty fields of a form are not filled."""

    async def parts() -> AsyncGenerator[bytes]:
        yield body

    parser = MultiPartParser(headers, parts(), max_files=limits.documents, max_part_size=limits.body_bytes)
    parser.spool_max_size = limits.body_bytes  # files stay in memory: nothing of a document is stored
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise RecipeError(f"the body must be a form, got a damaged one: {error.message}") from error
    try:
        return _read_fields(form.multi_items(), options, limits)
    finally:
        await form.close()


def _parse_pairs(headers: Headers, body: bytes) -> list[tuple[str, str]]:
    """Parse a form in the encoding of addresses, as `curl -d` and HTML forms send it; nothing if the body is a file.

    curl gives every body that type by itself, also that of a file. The characters are those of the declared set, of
    UTF-8, or of Windows-1252, which forms of pages in ISO-8859-1 have.
    """
    names = SummaryRequest.model_fields.keys()
    if body.partition(b"=")[0].decode("latin-1") not in names:
        return []
    if len(body) > _MAX_ESCAPED:
        raise HTTPException(413, f"a form of this type must have at most {_MAX_ESCAPED:,} bytes; send JSON")
    header, pairs = Message(), []
    header["Content-Type"] = headers["content-type"]
    for charset in filter(None, (header.get_content_charset(), "utf-8", "cp1252")):
        with suppress(ValueError, LookupError):
            pairs = parse_qsl(
                body.decode(charset), keep_blank_values=True, strict_parsing=True, encoding=charset, errors="strict"
            )
            break
    return pairs if {name for name, _ in pairs} <= names else []


def _read_fields(
    fields: Sequence[tuple[str, UploadFile | str]], options: SummaryOptions, limits: ServiceLimits
) -> ReadRequest:
    filled = [(name, value) for name, value in fields if isinstance(value, str) and value]
    texts = [value for name, value in filled if name == "text"]
    others = {name: value for name, value in filled if name != "text"}
    asked = SummaryRequest.model_validate({"texts": texts} | others)
    documents = asked.documents()
    for _, value in fields:
        if isinstance(value, UploadFile) and (value.filename or value.size):
            documents += _read_file(value.filename or "the file", value.file.read(), limits)
    return documents, asked.options(options)


def _read_file(name: str, content: bytes, limits: ServiceLimits) -> Iterable[Document]:
    """Read the documents of a file, one more than a request may have at most."""
    reading = ReadOptions(max_bytes=limits.body_bytes)
    documents = parse_documents(name, uncompressed_suffix(Path(name)), lambda: content, reading)
    return islice(documents, limits.documents + 1)


async def summaries_of(
    request: Request, documents: Sequence[Document], options: SummaryOptions, limits: ServiceLimits
) -> list[Summary]:
    """Wait for the summaries of documents, no longer than the client does.

    Raises:
        HTTPException: If the client has gone.
        SumpoolError: If the options are wrong, or the summaries are late.
    """
    task = asyncio.create_task(request.app.state.batcher.submit(documents, options))
    end = time.monotonic() + limits.seconds
    try:
        while not (await asyncio.wait([task], timeout=_POLL))[0]:
            await _require_client(request, end, f"the summaries must be there within {limits.seconds:g} s")
        summaries: list[Summary] = task.result()
        return summaries
    finally:
        task.cancel()


async def _require_client(request: Request, end: float, rule: str) -> None:
    """Stop waiting if the client has gone, or the time is over."""
    if time.monotonic() > end:
        raise ResourceError(f"{rule}; try again later")
    if await request.is_disconnected():
        raise HTTPException(499, "the client has gone")


class QueueFullError(ResourceError):
    """Too many requests are in progress, or hold too much."""


@dataclass(eq=False)
class _PendingRequest:
    """Documents of one request, and the future of their results."""

    documents: Sequence[Document]
    options: SummaryOptions
    results: "asyncio.Future[list[Summary]]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def characters(self) -> int:
        """Characters of the documents, which the time of their summaries grows with."""
        return sum(len(document.text) for document in self.documents)


class _Queue:
    """Requests that wait for a thread, which is always the same: each one that calls PyTorch has memory of its own."""

    def __init__(self, summarize: Summarize, batch_documents: int) -> None:
        self.jobs: list[_PendingRequest] = []
        self.arrived = asyncio.Event()
        self._summarize = summarize
        self._batch_documents = batch_documents

    async def serve(self) -> None:
        """Serve one batch at a time until cancelled."""
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, "summaries")
        try:
            while True:
                await self.arrived.wait()
                if not (batch := self._next_batch()):
                    self.arrived.clear()
                    continue
                documents = [document for job in batch for document in job.documents]
                try:
                    results = iter(await loop.run_in_executor(thread, self._summarize, documents, batch[0].options))
                except Exception as error:
                    for job in batch:
                        if not job.results.done():
                            job.results.set_exception(error)
                    continue
                for job in batch:
                    of_job = list(islice(results, len(job.documents)))
                    if not job.results.done():
                        job.results.set_result(of_job)
        finally:
            thread.shutdown(wait=False)

    def _next_batch(self) -> list[_PendingRequest]:
        """Take the first request, and others with its options as long as they fit."""
        batch: list[_PendingRequest] = []
        documents = characters = 0
        for job in list(self.jobs):
            fits = (
                documents + len(job.documents) <= self._batch_documents
                and characters + job.characters <= _BATCH_CHARACTERS
            )
            if not batch or (job.options == batch[0].options and fits):
                self.jobs.remove(job)
                batch.append(job)
                documents += len(job.documents)
                characters += job.characters
        return batch


@final
class Batcher:
    """Queues of requests and the tasks that serve them.

    A queue is served one batch at a time. Requests with the same options that wait meanwhile are the next batch, so
    that no request waits for another to come. Long texts have a queue of their own, as they may take a thousand times
    as long. Results do not depend on the batch.
    """

    def __init__(self, summarize: Summarize, batch_documents: int) -> None:
        self._short, self._long = (_Queue(summarize, batch_documents) for _ in range(2))

    @property
    def waiting(self) -> int:
        """Requests that wait for the model."""
        return len(self._short.jobs) + len(self._long.jobs)

    async def submit(self, documents: Sequence[Document], options: SummaryOptions) -> list[Summary]:
        """Wait for the summaries of the documents; a cancelled wait takes the request out of the queue.

        Raises:
            SumpoolError: If the options are wrong or memory runs out.
        """
        job = _PendingRequest(documents, options)
        queue = self._long if job.characters > _BATCH_CHARACTERS else self._short
        queue.jobs.append(job)
        queue.arrived.set()
        try:
            return await job.results
        finally:
            with suppress(ValueError):
                queue.jobs.remove(job)

    async def run(self) -> None:
        """Serve the queues until cancelled."""
        await asyncio.gather(self._short.serve(), self._long.serve())
