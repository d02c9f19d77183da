import os
import signal
from pathlib import Path

import pytest

from sumpool.cli.console import Log
from sumpool.errors import Interrupted, RecipeError
from sumpool.progress import Progress
from sumpool.recipe.load import load_recipe
from tests.cli.conftest import run
from tests.conftest import prepare, write_lines


@pytest.fixture
def recipe_with_data(tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tiny_recipe.parent)
    rows = [
        {"id": f"d{number}", "text": f"Document {number} says much.", "summary": "It says."} for number in range(40)
    ]
    write_lines(Path("train.jsonl"), rows)
    return tiny_recipe


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_and_nothing_is_left(recipe_with_data: Path, number: signal.Signals) -> None:

    def interrupt(_: Log, progress: Progress) -> None:
        if progress.task == "prepare: vocabulary":
            os.kill(os.getpid(), number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Log, "report", interrupt)
        stopped = run("prepare", str(recipe_with_data)).exception
    assert isinstance(stopped, Interrupted)
    assert str(stopped) == f"stopped by {number.name}; nothing was prepared, so prepare begins anew"
    assert stopped.status == 128 + number
    assert not Path("prepared/tiny").exists()
    prepare(load_recipe(recipe_with_data))


def test_a_recipe_without_a_source_cannot_be_prepared(recipe_with_data: Path) -> None:
    recipe = load_recipe(recipe_with_data, ["data.source=null"])
    with pytest.raises(RecipeError, match=r"data\.source must name .*, got null: an imported model has no data"):
        prepare(recipe)
