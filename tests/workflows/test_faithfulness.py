import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sumpool.cli.app import app
from sumpool.data.prepared_folder import write_manifest
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.documents.document import Document
from sumpool.errors import DataError, Interrupted, RecipeError
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.progress import Progress, no_op
from sumpool.workflows.faithfulness import LEAVE_ONE_OUT, evaluate_faithfulness, measure_faithfulness
from tests.conftest import story


@pytest.fixture
def run(run_folder: Path, tmp_path: Path) -> Path:
    """A run with four prepared test documents and an empty validation split."""
    folder = tmp_path / "random"
    shutil.copytree(run_folder, folder)
    with TextsWriter(tmp_path / "prepared", "test") as texts:
        for number in range(4):
            texts.add(Example(str(number), story(number, 20), "Hosts send.", "test"))
    with TextsWriter(tmp_path / "prepared", "validation") as texts:
        texts.add(Example("short", "Hosts.", "Hosts.", "validation"))
    write_manifest(tmp_path / "prepared", {}, no_op)
    return folder


def prepared(tmp_path: Path) -> tuple[str, ...]:
    return (f"data.prepared={tmp_path / 'prepared'}",)


def test_the_limit_spreads_documents(run: Path, tmp_path: Path) -> None:
    report = evaluate_faithfulness(run, overrides=prepared(tmp_path), limit=2)
    assert report.rows[0].documents == 2
    assert report.model == "random"


def test_unusable_documents_are_an_error(run: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"documents of validation must have summaries .* got none"):
        evaluate_faithfulness(run, "validation", overrides=prepared(tmp_path))


def test_the_limit_must_be_positive(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="the limit must be at least 1 document, got -1"):
        evaluate_faithfulness(run, overrides=prepared(tmp_path), limit=-1)


def test_the_command_prints_a_table_or_json(run: Path, tmp_path: Path) -> None:
    command = ["evaluate", str(run), "--faithfulness", "--limit", "1", "--set", *prepared(tmp_path)]
    table, report = (CliRunner().invoke(app, [*command, *option]).stdout for option in ([], ["--json"]))
    assert table.startswith("attribution")
    assert "leave one out" in table
    assert json.loads(report)["rows"][2]["method"] == "both"


def test_options_that_do_not_apply_are_refused(run: Path) -> None:
    result = CliRunner().invoke(app, ["evaluate", str(run), "--faithfulness", "--resume"])
    assert isinstance(result.exception, RecipeError)
    assert "--faithfulness must come with a run folder, --split, --limit, --json, --verify and --set only" in str(
        result.exception
    )


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
    with pytest.raises(DataError, match="documents of test must have summaries and two sentences, got none"):
        measure_faithfulness([Document("empty", "")], loaded, 50, "test", no_op, no_op)


def test_the_check_stops_between_documents(loaded: LoadedModel) -> None:
    def stop() -> None:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        measure_faithfulness(documents(2), loaded, 50, "", no_op, stop)
