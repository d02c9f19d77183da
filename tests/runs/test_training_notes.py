import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sumpool.progress import Progress
from sumpool.recipe.load import load_recipe
from sumpool.runs.run_folder import extension_note
from sumpool.workflows.train import dry_run, train
from tests.conftest import BARE, TOY


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    rows = (
        {
            "id": f"d{number}",
            "document": f"The router {number} sends a packet.",
            "summary": "A packet. " * (1 + number % 4),
        }
        for number in range(80)
    )
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "toy.yaml").write_text(TOY.format(folder=folder))
    return folder


@pytest.fixture
def warnings_of(folder: Path) -> Callable[..., list[str]]:
    def collect(*overrides: str) -> list[str]:
        reports: list[Progress] = []
        dry_run(load_recipe(folder / "toy.yaml", ["train.device=cpu", *overrides]), report=reports.append)
        return [report.note for report in reports if report.note.startswith("warning")]

    return collect


def test_usual_settings_have_no_warning(warnings_of: Callable[..., list[str]]) -> None:
    assert warnings_of("model.target_length=100") == []


@pytest.mark.slow
def test_cut_summaries_are_counted(warnings_of: Callable[..., list[str]]) -> None:
    (warning,) = warnings_of("model.target_length=2")
    assert warning.startswith("warning: 100% of the training summaries have more than model.target_length = 2 tokens")
    (warning,) = warnings_of("model.target_length=12")
    share = float(warning.split()[1].rstrip("%"))
    assert 0 < share < 100


@pytest.mark.slow
def test_end_before_the_first_epoch_is_told(warnings_of: Callable[..., list[str]]) -> None:
    (warning,) = warnings_of("model.target_length=100", "train.steps=2", "train.batch_tokens=64")
    assert "train.steps = 2 ends after" in warning
    assert "of the first epoch, which has" in warning
    more = ("train.steps=2", "train.batch_tokens=64", "train.accumulate=50")
    assert warnings_of("model.target_length=100", *more) == []


@pytest.mark.slow
def test_selection_by_few_documents_is_told(warnings_of: Callable[..., list[str]]) -> None:
    (warning,) = warnings_of("model.target_length=100", "train.select_by=rouge2")
    assert warning.startswith("warning: rouge2 of ")
    assert "validation documents is too uncertain to select by" in warning


@pytest.mark.slow
def test_a_finished_run_goes_on_and_says_what_happens(folder: Path, tmp_path: Path) -> None:
    def go(*overrides: str) -> list[str]:
        reports: list[Progress] = []
        settings = ["train.device=cpu", "train.schedule.warmup=1", *BARE, *overrides]
        train(load_recipe(folder / "toy.yaml", settings), tmp_path / "run", report=reports.append)
        return [report.note for report in reports]

    go("train.steps=4")
    notes = go("train.steps=8")
    (note,) = [note for note in notes if note.startswith("train.steps is raised from 4 to 8")]
    assert "the cosine schedule is now that of 8 steps, so that the learning rate rises from 0.00027 to 0.00082" in note
    assert note.endswith("the result is not that of an uninterrupted run")
    assert "resuming from step 4" in notes
    assert any(note.endswith("is finished; nothing is left to do") for note in go("train.steps=8"))
    records = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records if record["kind"] == "step"] == list(range(1, 9))


def test_an_endless_schedule_goes_on_unchanged(folder: Path, tmp_path: Path) -> None:
    before, after = (
        load_recipe(folder / "toy.yaml", ["train.schedule.kind=constant", f"train.steps={steps}", *BARE])
        for steps in (2, 4)
    )
    assert extension_note(tmp_path, after) == ""
    train(before, tmp_path / "run")
    assert extension_note(tmp_path / "run", after).endswith("the result is that of an uninterrupted run")
    assert extension_note(tmp_path / "run", before) == ""
