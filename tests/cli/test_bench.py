import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sumpool.cli.app import app

pytestmark = pytest.mark.usefixtures("small_probes")
SMALL = ["--length", "32", "--set", "bench.target=4", "--set", "bench.generate=2", "--set", "bench.repeats=1"]


@pytest.mark.slow
def test_tables_are_printed_and_everything_is_kept(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few = [*SMALL, "--set", "bench.workloads=[encode]"]
    for _ in range(2):  # a benchmark may be replaced
        result = CliRunner().invoke(app, ["bench", str(tiny_recipe), "--out", "kept.json", *few])
        assert result.exit_code == 0, result.output
        assert "bench of tiny" in result.stdout
        assert "encoding, batch 1" in result.stdout
    assert json.loads(Path("kept.json").read_text())["suite"] == "model"


def test_words_that_do_not_fit_are_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recipe.yaml").write_text("{}")
    for words, message in (
        (["nothing"], "nothing must be corpus, start, or a run folder or recipe that is there"),
        (
            ["recipe.yaml", "runs/mine"],
            "a second name must follow corpus or start only, got runs/mine after recipe.yaml",
        ),
        (["corpus", "--length", "3"], "--length must go with a model, got corpus"),
        (["start", "--set", "bench.words=3"], "--set must go with a model, got start"),
        *(
            ([option, "nowhere/x"], f"{option} must name a file in a folder that is there, got nowhere/x")
            for option in ("--out", "--csv", "--latex")
        ),
        (
            ["recipe.yaml", "--out", "recipe.yaml"],
            "recipe.yaml must be new or a benchmark that --out wrote, got another",
        ),
    ):
        assert message in str(CliRunner().invoke(app, ["bench", *words]).exception)
