import json
from pathlib import Path

import pytest

from sumpool.documents.document import Document
from sumpool.errors import Interrupted
from sumpool.inference.faithfulness import LEAVE_ONE_OUT, measure_faithfulness
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.progress import Progress, no_op
from tests.conftest import story


@pytest.fixture(scope="module")
def loaded(run_folder: Path) -> LoadedModel:
    return load_model(run_folder)


def documents(count: int) -> list[Document]:
    return [Document(str(number), story(number, 30)) for number in range(count)]


def test_every_attribution_has_a_row(loaded: LoadedModel) -> None:
    progress: list[Progress] = []
    empty = [
        Document("empty", ""),
        Document("broken", "", error="the file must be a file"),
        Document("short", "Hosts."),
    ]
    report = measure_faithfulness([*documents(4), *empty], loaded, 200, "test", progress.append, no_op)
    assert [row.method for row in report.rows] == ["attention", "pointer", "both", LEAVE_ONE_OUT]
    assert report.skipped == 3
    for row in report.rows:
        assert row.documents == 4
        assert row.tokens > 5
        assert row.top.low <= row.top.mean <= row.top.high
        assert row.ratio.mean == pytest.approx(row.top.mean / row.random.mean)
    assert [step.done for step in progress] == list(range(1, 8))
    columns, rows = report.table()
    assert {len(row) for row in rows} == {len(columns)}
    assert "3 documents without a summary" in report.notes[1]
    assert json.loads(report.to_json())["rows"][0]["method"] == "attention"


def test_leaving_one_out_is_the_most_faithful(loaded: LoadedModel) -> None:
    """The sentences whose loss is measured to be the largest cost more than random ones."""
    rows = {row.method: row for row in measure_faithfulness(documents(6), loaded, 200, "", no_op, no_op).rows}
    assert rows[LEAVE_ONE_OUT].top.mean > rows[LEAVE_ONE_OUT].random.mean


def test_results_are_repeatable(loaded: LoadedModel) -> None:
    first, second = (measure_faithfulness(documents(2), loaded, 50, "", no_op, no_op) for _ in range(2))
    assert first == second


def test_nothing_to_measure_is_an_error(loaded: LoadedModel) -> None:
    with pytest.raises(ValueError, match="documents must have summaries and two sentences, got none"):
        measure_faithfulness([Document("empty", "")], loaded, 50, "", no_op, no_op)


def test_the_check_stops_between_documents(loaded: LoadedModel) -> None:
    def stop() -> None:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        measure_faithfulness(documents(2), loaded, 50, "", no_op, stop)
