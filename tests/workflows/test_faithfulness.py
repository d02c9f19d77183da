import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sumpool.cli.app import app
from sumpool.data.prepared_folder import write_manifest
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.errors import DataError, RecipeError
from sumpool.progress import no_op
from sumpool.workflows.faithfulness import evaluate_faithfulness
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
    with pytest.raises(DataError, match=r"validation cannot be measured: documents must have summaries .* got none"):
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
