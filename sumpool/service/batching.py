"""Requests in two bounded queues, short and long ones, each summarised in batches by one thread."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, final

from sumpool.documents.document import Document
from sumpool.errors import ResourceError
from sumpool.inference.pipeline import OnDraft
from sumpool.inference.summarizer import SummaryResult
from sumpool.service.schemas import SummaryOptions

_BATCH_CHARACTERS: Final = 2**17
"""Characters of documents that are summarised together; a request with more is long."""


Summarize = Callable[[Sequence[Document], SummaryOptions, OnDraft | None], list[SummaryResult]]
"""Summarises documents, one result for each, in order."""


class QueueFullError(ResourceError):
    """Too many requests are in progress, or hold too much."""


@dataclass(eq=False)
class _PendingRequest:
    """Documents of one request, and the future of their results."""

    documents: Sequence[Document]
    options: SummaryOptions
    on_draft: Callable[[str], None] | None = None
    results: "asyncio.Future[list[SummaryResult]]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def characters(self) -> int:
        """Characters of the documents, which the time of their summaries grows with."""
        return sum(len(document.text) for document in self.documents)


class _Queue:
    """Requests that wait for a thread."""

    def __init__(self) -> None:
        self.jobs: list[_PendingRequest] = []
        self.arrived = asyncio.Event()
        # Always the same thread: each one that calls PyTorch has threads and memory of its own.
        self.thread = ThreadPoolExecutor(1, "summaries")


@final
class Batcher:
    """Queues of requests and the tasks that serve them.

    A queue is served one batch at a time. Requests with the same options that wait meanwhile are the next batch, so
    that no request waits for another to come. Long texts have a queue of their own, as they may take a thousand times
    as long. Results do not depend on the batch.
    """

    def __init__(self, summarize: Summarize, batch_documents: int) -> None:
        self._summarize = summarize
        self._batch_documents = batch_documents
        self._short, self._long = _Queue(), _Queue()

    @property
    def waiting(self) -> int:
        """Requests that wait for the model."""
        return len(self._short.jobs) + len(self._long.jobs)

    async def submit(
        self,
        documents: Sequence[Document],
        options: SummaryOptions,
        on_draft: Callable[[str], None] | None = None,
    ) -> list[SummaryResult]:
        """Wait for the summaries of the documents; a cancelled wait takes the request out of the queue.

        Args:
            documents: The documents.
            options: Options of their summaries.
            on_draft: Called in the event loop with what has been generated of a summary so far.

        Raises:
            SumpoolError: If the options are wrong or memory runs out.
        """
        job = _PendingRequest(documents, options, on_draft)
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
        await asyncio.gather(self._serve_all(self._short), self._serve_all(self._long))

    async def _serve_all(self, queue: _Queue) -> None:
        try:
            while True:
                await queue.arrived.wait()
                if batch := self._next_batch(queue.jobs):
                    await self._serve(batch, queue.thread)
                else:
                    queue.arrived.clear()
        finally:
            queue.thread.shutdown(wait=False)

    def _next_batch(self, jobs: list[_PendingRequest]) -> list[_PendingRequest]:
        """Take the first request, and others with its options as long as they fit."""
        batch: list[_PendingRequest] = []
        documents = characters = 0
        for job in list(jobs):
            fits = (
                documents + len(job.documents) <= self._batch_documents
                and characters + job.characters <= _BATCH_CHARACTERS
            )
            if not batch or (job.options == batch[0].options and fits):
                jobs.remove(job)
                batch.append(job)
                documents += len(job.documents)
                characters += job.characters
        return batch

    async def _serve(self, batch: Sequence[_PendingRequest], thread: ThreadPoolExecutor) -> None:
        documents = [document for job in batch for document in job.documents]
        loop = asyncio.get_running_loop()
        receivers = {id(document): job.on_draft for job in batch if job.on_draft for document in job.documents}

        def pass_on(document: Document, text: str) -> None:
            if id(document) in receivers:
                loop.call_soon_threadsafe(receivers[id(document)], text)

        on_draft = pass_on if receivers else None
        try:
            results = await loop.run_in_executor(thread, self._summarize, documents, batch[0].options, on_draft)
        except Exception as error:
            for job in batch:
                if not job.results.done():
                    job.results.set_exception(error)
            return
        remaining = iter(results)
        for job in batch:
            of_job = list(islice(remaining, len(job.documents)))
            if not job.results.done():
                job.results.set_result(of_job)
