import threading
from collections.abc import Iterator
from pathlib import Path

from sumpool.documents.document import Document
from sumpool.inference.loading import load_model
from sumpool.inference.summaries import generate_summaries
from tests.conftest import story


def test_a_stream_is_not_read_to_its_end_first(run_folder: Path) -> None:
    taken = 0

    def endless() -> Iterator[Document]:
        nonlocal taken
        while True:
            taken += 1
            yield Document(str(taken), story(taken % 7, 4))

    loaded = load_model(run_folder, ["summarize.batch_tokens=200"])
    summaries = generate_summaries(endless(), loaded)
    assert [next(summaries).id for _ in range(3)] == ["1", "2", "3"]
    assert taken < 100


def test_the_lock_is_free_while_documents_are_read(run_folder: Path) -> None:
    lock = threading.Lock()
    held: list[bool] = []

    def documents() -> Iterator[Document]:
        for number in range(3):
            held.append(lock.locked())
            yield Document(str(number), story(number, 4))

    loaded = load_model(run_folder, ["summarize.batch_tokens=1"])
    for _ in generate_summaries(documents(), loaded, check=lambda: held.append(lock.locked()), model_lock=lock):
        held.append(lock.locked())
    assert held == [False] * 9
