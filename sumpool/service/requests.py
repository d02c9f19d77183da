"""Requests: reading their documents, and waiting for the summaries."""

import asyncio
import time
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from email.message import Message
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Query, Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser

from sumpool.documents.document import Document, ReadOptions
from sumpool.documents.files import read_limited, uncompressed_suffix
from sumpool.documents.read import parse_documents
from sumpool.errors import RecipeError, ResourceError
from sumpool.inference.summarizer import Mode, SummaryResult
from sumpool.service.batching import SummaryOptions
from sumpool.service.config import ServiceLimits
from sumpool.service.schemas import SummaryRequest

_POLL = 0.25
"""Seconds between looks whether a client has gone."""
ReadRequest = tuple[list[Document], SummaryOptions]
"""Documents and options of a request."""


def request_reader(limits: ServiceLimits) -> Callable[..., Awaitable[ReadRequest]]:
    """Return the dependency that reads the documents and options of a request."""

    async def read(
        request: Request,
        length: Annotated[str | None, Query(description="Of a file: 150w, 5s, 10%, short, medium or long.")] = None,
        mode: Annotated[Mode | None, Query(description="Of a file: extractive or abstractive.")] = None,
        evidence: Annotated[bool, Query(description="Of a file: whether answers have evidence.")] = False,
        name: Annotated[str, Query(max_length=255, description="Of a file: its name, for its suffix.")] = "the file",
    ) -> ReadRequest:
        return await _read_request(request, SummaryOptions(length, mode, evidence), limits, name)

    return read


async def _read_request(request: Request, options: SummaryOptions, limits: ServiceLimits, name: str) -> ReadRequest:
    """Read the documents and the options of a request; the body goes before the options beside it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        asked = SummaryRequest.model_validate_json((await request.body()).removeprefix(BOM_UTF8))
        if (asked.text is None) == (asked.texts is None):
            raise RecipeError("the body must have text or texts, got both or none")
        documents = asked.documents()
        options = asked.options(options)
    elif kind == "multipart/form-data":
        documents, options = await _read_form(request, options, limits)
    elif kind == "application/x-www-form-urlencoded":
        documents, options = await _read_pairs(request, options, limits, name)
    else:
        documents = await _read_file(name, await request.body(), limits)
    if not 1 <= len(documents) <= limits.documents:
        raise RecipeError(f"a request must have 1 to {limits.documents:,} documents, got {len(documents):,}")
    return documents, options


async def _read_form(request: Request, options: SummaryOptions, limits: ServiceLimits) -> ReadRequest:
    """Read a form: files in fields of any name, texts, and options; empty fields of a form are not filled."""
    parser = MultiPartParser(
        request.headers, request.stream(), max_files=limits.documents, max_part_size=limits.body_bytes
    )
    parser.spool_max_size = limits.body_bytes  # files stay in memory: nothing of a document is stored
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise RecipeError(f"the body must be a form, got a damaged one: {error.message}") from error
    try:
        return await _read_fields(form.multi_items(), options, limits)
    finally:
        await form.close()


async def _read_pairs(request: Request, options: SummaryOptions, limits: ServiceLimits, name: str) -> ReadRequest:
    """Read a form in the address's encoding, as `curl -d` and HTML forms send it; other bodies of its type are files.

    curl gives every body that type by itself, also that of a file. The characters are those of the declared set, of
    UTF-8, or of Windows-1252, which forms of pages in ISO-8859-1 have.
    """
    body, header, fields = await request.body(), Message(), []
    header["Content-Type"] = request.headers["content-type"]
    for charset in filter(None, (header.get_content_charset(), "utf-8", "cp1252")):
        with suppress(ValueError, LookupError):
            fields = parse_qsl(
                body.decode(charset), keep_blank_values=True, strict_parsing=True, encoding=charset, errors="strict"
            )
            break
    if not fields or not {field for field, _ in fields} <= SummaryRequest.model_fields.keys():
        return await _read_file(name, body, limits), options
    return await _read_fields(fields, options, limits)


async def _read_fields(
    fields: Sequence[tuple[str, UploadFile | str]], options: SummaryOptions, limits: ServiceLimits
) -> ReadRequest:
    filled = [(name, value) for name, value in fields if isinstance(value, str) and value]
    texts = [value for name, value in filled if name == "text"]
    others = {name: value for name, value in filled if name != "text"}
    asked = SummaryRequest.model_validate({"texts": texts} | others)
    documents = asked.documents()
    for _, value in fields:
        if isinstance(value, UploadFile) and (value.filename or value.size):
            documents += await _read_file(value.filename or "the file", await value.read(), limits)
    return documents, asked.options(options)


async def _read_file(name: str, content: bytes, limits: ServiceLimits) -> list[Document]:
    """Read the documents of a file."""
    reading = ReadOptions(max_bytes=8 * limits.body_bytes)
    documents = parse_documents(
        name, uncompressed_suffix(Path(name)), lambda: read_limited(BytesIO(content), reading.limits), reading
    )
    return await asyncio.to_thread(list, documents)


async def wait_for_summaries(
    request: Request,
    documents: Sequence[Document],
    options: SummaryOptions,
    limits: ServiceLimits,
    on_draft: Callable[[str], None] | None = None,
) -> list[SummaryResult]:
    """Wait for the summaries, no longer than the client does.

    Args:
        request: The request.
        documents: Its documents.
        options: Its options.
        limits: What a client may ask for.
        on_draft: Called with what has been generated of a summary so far.

    Raises:
        HTTPException: If the client has gone.
        SumpoolError: If the options are wrong, too many requests wait, or the summaries are late.
    """
    task = asyncio.ensure_future(request.app.state.batcher.submit(documents, options, on_draft))
    end = time.monotonic() + limits.seconds
    try:
        while not task.done():
            await asyncio.wait([task], timeout=_POLL)
            if not task.done() and time.monotonic() > end:
                raise ResourceError(f"the summaries must be there within {limits.seconds:g} s; try again later")
            if not task.done() and await request.is_disconnected():
                raise HTTPException(499, "the client has gone")
        results: list[SummaryResult] = task.result()
        return results
    finally:
        task.cancel()


async def with_drafts(
    wait: Callable[[Callable[[str], None] | None], Coroutine[Any, Any, list[SummaryResult]]], *, wanted: bool
) -> AsyncIterator[str | list[SummaryResult]]:
    """Yield drafts while waiting for summaries, then the summaries; a draft that comes too fast replaces the last one.

    Args:
        wait: Waits for the summaries; its argument is to be called with drafts.
        wanted: Whether drafts are yielded; otherwise only the summaries are.
    """
    drafts: asyncio.Queue[str] = asyncio.Queue(1)

    def put(text: str) -> None:
        if drafts.full():
            drafts.get_nowait()
        drafts.put_nowait(text)

    task = asyncio.ensure_future(wait(put if wanted else None))
    try:
        while not task.done():
            draft = asyncio.ensure_future(drafts.get())
            await asyncio.wait([task, draft], return_when=asyncio.FIRST_COMPLETED)
            if draft.done():
                yield draft.result()
            draft.cancel()
        yield task.result()
    finally:
        task.cancel()
