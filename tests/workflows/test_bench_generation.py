from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.progress import no_op
from sumpool.workflows.bench import bench
from sumpool.workflows.bench_generation import bench_generation
from sumpool.workflows.train_language_model import train_language_model
from tests.tasks.language_modeling.test_loading import folder, recipe

pytestmark = pytest.mark.slow

__all__ = ["folder"]


def test_a_run_is_timed_by_length(folder: Path) -> None:
    run = train_language_model(recipe(folder, {"kind": "whitespace"}), folder / "timed")
    report = bench("generation", run, overrides=["bench.lengths=[256,512]", "bench.repeats=2"])
    assert report.suite == "generation"
    rows = report.result.rows["generation"]
    assert [row["length"] for row in rows] == [256, 512]
    assert 0.3 < rows[1]["growth"] < 2
    with pytest.raises(RecipeError, match=r"bench\.lengths"):
        bench_generation(run, ["bench.lengths=[1]"], no_op, no_op)
