import json
import signal
from pathlib import Path

import pytest

from sumpool.bench.config import BenchConfig, Workload
from sumpool.bench.models.saved import compare_reports, load_saved
from sumpool.bench.results.table import where
from sumpool.bench.run import bench
from sumpool.bench.workload import Conditions, Contender, Documents
from sumpool.core.model.config import ModelConfig
from sumpool.errors import Interrupted, RecipeError
from sumpool.progress import Progress

pytestmark = pytest.mark.usefixtures("small_probes")
SMALL = ("bench.target=4", "bench.generate=2", "bench.repeats=1")


def test_a_recipe_needs_no_data(tiny_recipe: Path) -> None:
    heard: list[Progress] = []
    found = bench(tiny_recipe, overrides=SMALL, lengths=(16, 32), report=heard.append)
    assert {(row["model"], row["length"]) for row in found.result.rows["models"]} == {
        (model, length) for model in ("model", "blockwise", "vanilla") for length in (16, 32)
    }
    assert heard.pop(0).note == "this takes at most about 540 s; bench.seconds changes that"
    assert [each.done for each in heard] == sorted(each.done for each in heard)
    assert {each.total for each in heard} == {heard[-1].done} == {2 * 9 + 2 * 2 * 9}  # 32 tokens count twice
    assert {"encode": "32 tokens, vanilla"} in [progress.metrics for progress in heard]
    assert found.settings["bench"]["lengths"] == (16, 32)
    assert json.loads(found.to_json())["recipe"] == "tiny"
    assert len(found.tables()) == 7


@pytest.mark.slow
def test_a_run_folder_is_a_recipe_too(run_folder: Path) -> None:
    found = bench(run_folder, overrides=(*SMALL, "train.precision=bf16", "bench.precision=bf16"), lengths=(300,))
    assert found.recipe == "random"
    assert found.precision == "bf16"
    assert {row["length"] for row in json.loads(found.to_json())["models"]} == {300}  # more than the model reads in use


def test_lengths_are_checked(tiny_recipe: Path) -> None:
    with pytest.raises(RecipeError, match=r"bench\.lengths\[0\] must be .* 1 and .*, got 0"):
        bench(tiny_recipe, lengths=(0,))


@pytest.mark.slow
def test_without_a_run_a_small_model_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    heard: list[Progress] = []
    found = bench(overrides=(*SMALL, "model.dim=16", "bench.workloads=[encode]"), lengths=(32,), report=heard.append)
    assert found.recipe == "quickstart"
    assert found.settings["vocabulary"] == 6000
    assert heard[0].note == "there is no run in runs: measuring the model of the quickstart"


@pytest.mark.slow
def test_without_a_target_the_newest_run_is_measured(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.bench.run.RUNS", run_folder.parent)
    heard: list[Progress] = []
    found = bench(overrides=(*SMALL, "bench.workloads=[encode]"), lengths=(32,), report=heard.append)
    assert found.recipe == "random"
    assert heard[0].note == f"measuring the newest run, {run_folder}"


@pytest.mark.slow
def test_an_earlier_benchmark_is_repeated(tiny_recipe: Path, tmp_path: Path) -> None:
    first = bench(tiny_recipe, overrides=(*SMALL, "bench.workloads=[encode]", "seed=5"), lengths=(32,))
    path = tmp_path / "kept.json"
    path.write_text(first.to_json())
    again = bench(load_saved(path), overrides=("bench.batch=2",))
    assert json.loads(again.to_json())["settings"]["model"] == json.loads(first.to_json())["settings"]["model"]
    assert compare_reports(load_saved(path), again).differences == ("bench.batch was 1, is 2",)
    assert again.settings["recipe"]["seed"] == 5


@pytest.mark.slow
def test_the_first_benchmarks_kept_no_recipe(tiny_recipe: Path, tmp_path: Path) -> None:
    tree = json.loads(bench(tiny_recipe, overrides=(*SMALL, "bench.workloads=[encode]"), lengths=(32,)).to_json())
    del tree["settings"]["recipe"]
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(tree))
    again = bench(load_saved(path))
    assert again.recipe == "tiny"
    assert compare_reports(load_saved(path), again).differences == ()


@pytest.mark.slow
def test_precision_of_reading_and_writing(tiny_recipe: Path) -> None:
    found = bench(tiny_recipe, overrides=(*SMALL, "bench.precision=bf16", "train.precision=fp32"), lengths=(32,))
    assert found.precision == "bf16 of encoding and generation, fp32 of training"
    assert {(row["workload"], row["precision"]) for row in found.result.rows["models"]} == {
        ("encode", "bf16"),
        ("train", "fp32"),
        ("generate", "bf16"),
    }


def test_a_precision_that_is_not_to_be_had(tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.training.hardware.has_int8", lambda: False)
    with pytest.raises(RecipeError, match=r"bench\.precision must be 'auto', .* got 'int8'"):
        bench(tiny_recipe, overrides=("bench.precision=int8",))


class Peer(Contender):
    """A peer that takes no time."""

    def precision_of(self, workload: Workload) -> None: ...

    def encode(self, documents: Documents) -> None: ...

    def train(self, documents: Documents) -> None: ...

    def generate(self, documents: Documents, beams: int, tokens: int) -> None: ...


@pytest.mark.slow
def test_peers_take_part(tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def build(config: ModelConfig, settings: BenchConfig, conditions: Conditions) -> dict[str, Contender]:
        del config, conditions
        asked.append((max(settings.lengths), settings.generate))
        return {"theirs": Peer(), "others": Peer()}

    monkeypatch.setattr("sumpool.bench.peers.build.build_peers", build)
    monkeypatch.setattr("sumpool.bench.peers.build.require_peers", lambda: ("one is missing",))
    heard: list[Progress] = []
    chosen = [*SMALL, "bench.peers=[theirs]", "bench.baselines=[vanilla]"]
    found = bench(tiny_recipe, overrides=chosen, lengths=(32, 64), peers=True, report=heard.append)
    assert {row["model"] for row in found.result.rows["models"]} == {"model", "vanilla", "theirs"}
    assert [row["length"] for row in where(found.result.rows["models"], {"model": "theirs"})] == [32, 64] * 3
    assert asked == [(64, 2)]
    assert heard[0].note == "one is missing"
    assert found.precision.endswith("of training, the fastest of each peer")
    with pytest.raises(RecipeError, match=r"bench\.peers must name some of theirs, others, got LSD"):
        bench(tiny_recipe, overrides=[*SMALL, "bench.peers=[LSD]"], lengths=(32,), peers=True)


def stop() -> None:
    raise Interrupted(signal.SIGTERM)


def test_a_signal_leaves_nothing(tiny_recipe: Path) -> None:
    with pytest.raises(Interrupted, match="stopped by SIGTERM; a benchmark that is not finished keeps nothing"):
        bench(tiny_recipe, overrides=SMALL, lengths=(32,), check=stop)
