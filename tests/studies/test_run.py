import json
import signal

import pytest

from sumpool.errors import Interrupted, RecipeError
from sumpool.progress import Progress
from sumpool.studies.run import run_study

pytestmark = pytest.mark.usefixtures("small_probes")


QUICK: dict[str, str] = {
    "operators": "lengths=[8,16] repeats=1 batch=2",
    "complexity": "length=16 keep=4 block=4 dim=16 heads=2 feed_forward=16 layers=1 target=4",
    "tables": "table=8 scale=0.02 width=0.04 batch=1 repeats=1 generate=[10,20]",
    "shortening": "length=24 dim=16 feed_forward=16 repeats=1 factors=[2]",
    "approximation": "lengths=[16,24] features=[4,8] repeats=1 head_dim=8",
    "attentions": "lengths=[8] dim=8 heads=2 repeats=1",
}
"""Settings with which a suite takes no time."""


def quick(name: str) -> list[str]:
    return [f"study.{change}" for change in QUICK[name].split()]


@pytest.mark.parametrize("name", list(QUICK))
def test_a_study_needs_no_recipe(name: str) -> None:
    heard: list[Progress] = []
    found = run_study(name, overrides=quick(name), report=heard.append)
    assert (found.recipe, found.suite) == ("", name)
    assert found.tables()[0].title == f"study of {name}"
    assert len(found.tables()) > 1
    for table in found.tables():
        assert {len(cells) for cells in table.cells()} == {len(table.headings())}
    assert json.loads(found.to_json())["settings"]["seed"] == 1
    assert heard[-1].done == heard[-1].total
    assert all(each.total and each.done <= each.total for each in heard)


def test_device_and_precision_are_set_as_in_a_recipe() -> None:
    changes = ("train.device=cpu", "train.precision=bf16", "seed=3")
    found = run_study("attentions", overrides=(*quick("attentions"), *changes))
    assert (found.device, found.precision, found.settings["seed"]) == ("cpu", "bf16", 3)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("operators", "study.repeat=3", r"study operators: study\.repeat is not a setting of study .*repeats"),
        ("operators", "study.lengths=[2]", r"study\.lengths\[0\] must be at least 4, got 2"),
        ("tables", "study.table=3", r"study\.table must be .*2, 7, 8.*10, got 3"),
        ("complexity", "study.heads=7", r"heads must divide dim = 768, got 7"),
        ("complexity", "study.feed_forward=100", r"feed_forward must be a multiple of dim = 768, got 100"),
        ("shortening", "study.dim=15", r"heads must divide dim = 15, got 8"),
        ("operators", "nonsense", "--set must look like"),
        ("operators", "train.steps=3", r"train\.steps is not a setting"),
    ],
)
def test_settings_of_a_study_are_checked(name: str, change: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        run_study(name, overrides=(change,))


def test_a_signal_stops_a_study() -> None:
    def stop() -> None:
        raise Interrupted(signal.SIGTERM)

    for name in QUICK:
        with pytest.raises(Interrupted, match="keeps nothing"):
            run_study(name, overrides=quick(name), check=stop)
