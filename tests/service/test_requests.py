import asyncio
import threading
from collections.abc import Sequence

from sumpool.documents.document import Document
from sumpool.inference.summary import Summary
from sumpool.service.requests import Batcher
from sumpool.service.schemas import SummaryOptions

SHORT, LONG = SummaryOptions(length="short"), SummaryOptions(length="long")


class Model:
    """Summaries with the text of their document; the first call waits for `leave`."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], SummaryOptions]] = []
        self.entered, self.leave = threading.Event(), threading.Event()

    def summarize(self, documents: Sequence[Document], options: SummaryOptions) -> list[Summary]:
        self.calls.append(([document.text for document in documents], options))
        self.entered.set()
        self.leave.wait(20)
        return [Summary("", document.text, 0.0, 1, 1, mode="extractive") for document in documents]


def documents(*texts: str) -> list[Document]:
    return [Document("1", text) for text in texts]


async def first_call(model: Model, batcher: Batcher) -> "asyncio.Task[list[Summary]]":
    task = asyncio.create_task(batcher.submit(documents("a"), SHORT))
    await asyncio.to_thread(model.entered.wait, 60)
    return task


def test_requests_with_the_same_options_share_a_batch() -> None:
    model = Model()

    async def scenario() -> list[list[str]]:
        batcher = Batcher(model.summarize, batch_documents=3)
        server = asyncio.create_task(batcher.run())
        tasks = [await first_call(model, batcher)]
        for texts, options in ((("b", "c"), SHORT), (("d",), LONG), (("e",), SHORT), (("f",), SHORT)):
            tasks.append(asyncio.create_task(batcher.submit(documents(*texts), options)))
        await asyncio.sleep(0)
        assert batcher.waiting == 4
        model.leave.set()
        answers = await asyncio.gather(*tasks)
        server.cancel()
        return [[result.text for result in results] for results in answers]

    assert asyncio.run(scenario()) == [["a"], ["b", "c"], ["d"], ["e"], ["f"]]
    assert model.calls == [(["a"], SHORT), (["b", "c", "e"], SHORT), (["d"], LONG), (["f"], SHORT)]


def test_a_request_whose_client_has_gone_is_not_served() -> None:
    model = Model()

    async def scenario() -> None:
        batcher = Batcher(model.summarize, batch_documents=3)
        server = asyncio.create_task(batcher.run())
        first = await first_call(model, batcher)
        gone = asyncio.create_task(batcher.submit(documents("b"), SHORT))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        model.leave.set()
        await first
        await batcher.submit(documents("c"), SHORT)
        server.cancel()

    asyncio.run(scenario())
    assert [texts for texts, _ in model.calls] == [["a"], ["c"]]


def test_short_requests_wait_for_no_long_one_even_at_work() -> None:
    model = Model()
    long, short = "a" * (2**17 + 1), "b" * 2**17

    def summarize(documents: Sequence[Document], options: SummaryOptions) -> list[Summary]:
        if documents[0].text != long:
            model.leave.set()
        return model.summarize(documents, options)

    async def scenario() -> None:
        batcher = Batcher(summarize, batch_documents=3)
        server = asyncio.create_task(batcher.run())
        first = asyncio.create_task(batcher.submit(documents(long), SHORT))
        await asyncio.to_thread(model.entered.wait, 60)
        await asyncio.wait_for(batcher.submit(documents(short), SHORT), 10)
        await first
        server.cancel()

    asyncio.run(scenario())
    assert [texts for texts, _ in model.calls] == [[long], [short]]
