import json
import signal
from pathlib import Path

import pytest

from sumpool.bench.table import tables
from sumpool.errors import CheckpointError, Interrupted, RecipeError
from sumpool.progress import Progress
from sumpool.workflows.bench import Suite, bench

SMALL = ("bench.target=4", "bench.generate=2", "bench.repeats=1")


def test_a_recipe_needs_no_data(tiny_recipe: Path) -> None:
    heard: list[Progress] = []
    found = bench(tiny_recipe, overrides=SMALL, lengths=(32, 64), report=heard.append)
    assert {(row.model, row.length) for row in found.models} == {
        (model, length) for model in ("model", "blockwise", "vanilla") for length in (32, 64)
    }
    assert [(each.done, each.total) for each in heard] == [(done, 6) for done in range(1, 7)]
    assert found.settings["bench"]["lengths"] == (32, 64)
    assert json.loads(found.to_json())["recipe"] == "tiny"
    assert len(tables(found)) == 4


def test_a_run_folder_is_a_recipe_too(run_folder: Path) -> None:
    found = bench(run_folder, overrides=(*SMALL, "train.precision=bf16"), lengths=(300,))
    assert found.recipe == "random"
    assert found.precision == "bf16"
    assert {row.length for row in found.models} == {300}  # more than the model reads in use


def test_operators_need_a_recipe_for_device_and_repetitions_only(tiny_recipe: Path) -> None:
    found = bench(tiny_recipe, "operators", overrides=SMALL)
    assert found.models == ()
    assert {len(row.timing.seconds) for row in found.operators} == {1}
    assert len(tables(found)) == 2


@pytest.mark.parametrize(
    ("lengths", "message"), [((0,), r"bench\.lengths\[0\] must be .*1, got 0"), ((-5, 3), r"bench\.lengths\[0\]")]
)
def test_lengths_are_checked(tiny_recipe: Path, lengths: tuple[int, ...], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        bench(tiny_recipe, lengths=lengths)


def test_without_a_target_there_must_be_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match="must hold a trained model, got none"):
        bench()


@pytest.mark.parametrize("suite", ["model", "operators"])
def test_a_signal_leaves_nothing(tiny_recipe: Path, suite: Suite) -> None:
    def check() -> None:
        raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted, match="stopped by SIGTERM; a benchmark that is not finished keeps nothing"):
        bench(tiny_recipe, suite, overrides=SMALL, lengths=(32,), check=check)
