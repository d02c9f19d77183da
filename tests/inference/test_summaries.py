import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError, ResourceError
from sumpool.inference.loading import load_model
from sumpool.inference.summaries import Summary, SummaryFile, generate_summaries
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


def test_a_line_is_json_whatever_the_text_holds(tmp_path: Path) -> None:
    ids = ["../../x", "a\nb", 'quote"', "\x1b[31m", "\u2028", "\udc80", "é"]
    with SummaryFile(tmp_path / "out.jsonl") as file:
        for id in ids:
            file.append(Summary(id, "text\nof two lines", -0.25, 8, 9, 0.1234567).as_json())
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids
    assert json.loads(lines[0]) == {
        "id": "../../x",
        "summary": "text\nof two lines",
        "score": -0.25,
        "tokens_read": 8,
        "tokens_total": 9,
        "seconds": 0.1235,
        "reason": "",
        "mode": "abstractive",
    }


def test_equal_names_count_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"id": "a"}\n{"id": "a"}\n{"id": "b"}\n')
    documents = [Document(id, str(number)) for number, id in enumerate("aaabc")]
    with SummaryFile(path, resume=True) as file:
        assert [document.text for document in file.skip_done(documents)] == ["2", "4"]


@pytest.mark.parametrize("line", ["no json", "[]", "{}", '"id"', "\\xff"])
def test_a_file_of_anything_else_is_left_alone(tmp_path: Path, line: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b'{"id": "a"}\n' + line.encode("latin-1") + b"\n")
    before = path.read_bytes()
    with pytest.raises(DataError, match=re.escape(f"{path}:2 must be a summary in JSON, got")):
        SummaryFile(path, resume=True)
    assert path.read_bytes() == before


def test_a_file_is_never_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("mine")
    with pytest.raises(RecipeError, match="must not exist yet"):
        SummaryFile(path)
    assert path.read_text() == "mine"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"no/out\.jsonl must be a file that can be written, got"):
        SummaryFile(tmp_path / "no" / "out.jsonl")
    with pytest.raises(ResourceError, match="go on with --resume"), SummaryFile(Path("/dev/full")) as file:
        file.append(Summary("a", "", None, 0, 0, 0.0, "why").as_json())
