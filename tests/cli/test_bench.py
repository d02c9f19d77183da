import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sumpool.cli.app import app

pytestmark = pytest.mark.usefixtures("small_probes")
SMALL = ["--length", "32", "--set", "bench.target=4", "--set", "bench.generate=2", "--set", "bench.repeats=1"]


@pytest.mark.slow
def test_keep_show_and_compare(tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few = [*SMALL, "--set", "bench.workloads=[encode]"]
    run = CliRunner().invoke
    first = run(app, ["bench", str(tiny_recipe), "--out", "old.json", *few])
    assert first.exit_code == 0, first.output
    assert "bench of tiny" in first.stdout
    shown = run(app, ["bench", "old.json"])
    assert "encoding, batch 1" in shown.stdout
    again = run(app, ["bench", "--compare", "old.json", "--out", "new.json", "--set", "bench.batch=2"])
    assert again.exit_code == 0, again.output
    assert "what changed" in again.stdout
    assert "different: bench.batch was 1, is 2" in again.stdout
    compared = run(app, ["bench", "new.json", "--compare", "old.json", "--json"])
    assert json.loads(compared.stdout)["differences"] == ["bench.batch was 1, is 2"]


def test_words_that_do_not_fit_are_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old.json", "recipe.yaml"):
        Path(name).write_text("{}")
    for words, message in (
        (["operators", "--peers"], "operators is a study: sumpool study operators"),
        (["nothing"], "nothing must be corpus, start, or a run folder or recipe that is there"),
        (
            ["recipe.yaml", "runs/mine"],
            "a second name must follow corpus or start only, got runs/mine after recipe.yaml",
        ),
        (["corpus", "--compare", "old.json"], "--compare must go with a model, got corpus"),
        (["start", "--set", "bench.words=3"], "--set must go with a model, got start"),
        (["old.json", "--length", "3"], "--length must go with something to measure, got old.json"),
        (["old.json", "--peers"], "--peers must go with something to measure, got old.json"),
        *(
            ([option, "nowhere/x"], f"{option} must name a file in a folder that is there, got nowhere/x")
            for option in ("--out", "--csv", "--latex")
        ),
        (["--compare", "old.json"], "old.json must be a benchmark of a model that --out wrote"),
        (["old.json"], "old.json must be a benchmark of a model that --out wrote"),
        (["recipe.yaml", "--compare", "none.json"], "none.json must be a benchmark that --out wrote"),
    ):
        assert message in str(CliRunner().invoke(app, ["bench", *words]).exception)
