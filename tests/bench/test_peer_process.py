from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sumpool.bench.corpus import choose_documents, write_documents
from sumpool.bench.peer_process import read_documents
from sumpool.data.sources import RfcSourceConfig
from sumpool.errors import RecipeError


@pytest.fixture(autouse=True, scope="module")
def read_once() -> Iterator[None]:
    """Read the bundled sample, which takes seconds, once."""
    rows = list(RfcSourceConfig().examples("test"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sumpool.bench.corpus.RfcSourceConfig", lambda: SimpleNamespace(examples={"test": rows}.get))
        yield


def test_documents_span_the_lengths_of_the_test_split(tmp_path: Path) -> None:
    rows = choose_documents(64)
    numbers = [int(row.id.removeprefix("RFC")) for row in rows]
    assert numbers == sorted(set(numbers))
    assert {number % 10 for number in numbers} == {7}
    words = sorted(len(row.document.split()) for row in rows)
    assert words[-1] > 5 * words[0]
    fewer = choose_documents(2)
    assert sorted(len(row.document.split()) for row in fewer) == [words[0], words[-1]]
    path = write_documents(tmp_path / "documents.jsonl", fewer)
    assert read_documents(path) == [(row.id, row.document) for row in fewer]


def test_more_documents_than_there_are_is_an_error() -> None:
    with pytest.raises(
        RecipeError, match=r"bench\.documents must be at most \d+, the RFCs of the test split, got 9999"
    ):
        choose_documents(9999)
