"""From a file with several runs to the recipes of its rows, or to a sentence for everything that is wrong in it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sumpool.errors import RecipeError
from sumpool.io.atomic import temporary_path
from sumpool.io.replaceable import begin_folder, replace_listed_file
from sumpool.workflows.sweep import SweepRun, load_sweep, require_sweep_folder, tabulate

SWEEP = """\
sweep: toy
seeds: [1, 2]
source_tokens: 500
recipe:
  data: {source: {kind: jsonl, path: train.jsonl}, vocabulary: 300}
  model:
    dim: 16
    heads: 2
    source_length: 64
    encoder:
      - {attention: {kind: blockwise, block: 16}}
      - {attention: {kind: blockwise, block: 16}}
  train: {batch_tokens: 256}
rows:
  blockwise:
  halving: {"model.encoder[1].pool": {kind: halving, keep: 8}, train.clip: 0.5}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP)
    return path


def problems_of(path: Path, text: str, *overrides: str) -> str:
    path.write_text(text)
    with pytest.raises(RecipeError) as caught:
        load_sweep(path, overrides)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_row_is_the_recipe_with_changed_settings(file: Path) -> None:
    loaded = load_sweep(file)
    blockwise, halving = loaded.rows
    assert loaded.settings.seeds == (1, 2)
    assert loaded.settings.split == "validation"
    assert (blockwise.name, halving.name) == ("blockwise", "halving")
    assert [layer.pool for layer in blockwise.model.encoder] == [None, None]
    assert halving.model.encoder[1].pool is not None
    assert halving.train.clip == 0.5
    assert blockwise.prepared_folder == halving.prepared_folder == Path("prepared/toy")
    unlike = {"name": blockwise.name, "model": blockwise.model, "train": blockwise.train}
    assert halving.model_copy(update=unlike) == blockwise


def test_overrides_change_the_sweep_or_the_recipe_of_its_rows(file: Path) -> None:
    loaded = load_sweep(file, ["seeds=[3]", "train.clip=2.0", "train.learning_rate=0.5", "model.encoder[0].pool=null"])
    assert loaded.settings.seeds == (3,)
    assert [row.train.clip for row in loaded.rows] == [2.0, 0.5]
    assert {row.train.learning_rate for row in loaded.rows} == {0.5}


def test_problems_of_all_rows_are_reported_at_once(file: Path) -> None:
    text = (
        SWEEP.replace("batch_tokens: 256", "batch_tokens: 0, steps: 3")
        .replace("blockwise:\n", "blockwise: {train.stpes: 3}\n", 1)
        .replace("clip: 0.5", "clip: -1")
        + '  "../up": {seed: 3, "train[0]": 1, "no path": 2, "model.encoder[7].pool": null, data.vocabulary: 301}\n'
    )
    assert problems_of(file, text, "train.schedule", "model.encoder[9].pool=null").splitlines() == [
        "11 problems",
        "  - --set must look like section.setting=value, got 'train.schedule'",
        "  - --set model.encoder[9].pool: model.encoder must have an entry 9, got 2 counted from 0",
        "  - recipe: train.steps must be left to the sweep's source_tokens",
        "  - recipe: train.batch_tokens must be at least 1, got 0",
        "  - rows.blockwise: train.stpes is not a setting of train (did you mean steps?)",
        "  - rows.halving: train.clip must be at least 0.0, got -1",
        "  - rows.../up: its name must match [A-Za-z0-9][A-Za-z0-9._-]{0,47}, got '../up'",
        "  - rows.../up: train[0]: train must be a list to have an entry 0, got {'batch_tokens': 0, 'steps': 3}",
        "  - rows.../up: no path: a path must look like section.setting, got 'no path'",
        "  - rows.../up: model.encoder[7].pool: model.encoder must have an entry 7, got 2 counted from 0",
        "  - rows.../up: seed must be left to the sweep's seeds",
    ]


def test_problems_of_the_sweep_are_reported(file: Path) -> None:
    for old, new, message in [
        ("seeds: [1, 2]", "seeds: [1, 1]", "seeds must be different, got [1, 1]"),
        ("seeds: [1, 2]", "seed: [1]", "seed is not a setting of a sweep (did you mean seeds?)"),
        ("source_tokens: 500", "", "source_tokens is missing (Source tokens that each run trains on"),
        ("rows:", "rows: {}\nsplit: train\n#", "rows must name one row at least, got {}"),
        ("rows:", "rows: []\nsplit: test\n#", "rows must be a mapping, got []"),
        ("sweep: toy", "sweep: ../up", "sweep must be text that matches"),
        ("train.clip: 0.5", "data.vocabulary: 301", "rows.halving: data must be the same in every row"),
    ]:
        text = SWEEP.replace(old, new)
        if "#" in new:
            text = text[: text.index("#")]
        assert problems_of(file, text).startswith(message)


def test_a_misspelt_key_sweep_is_suggested(file: Path) -> None:
    file.write_text(SWEEP.replace("sweep:", "seep:"))
    with pytest.raises(RecipeError, match=r"seep is not a setting of a sweep \(did you mean sweep\?\)"):
        load_sweep(file)


def outcome(row: str, seed: int, scores: list[float], loss: float = 3.0, memory: int | None = 2**21) -> SweepRun:
    rouge = {f"d{number}": (score, score / 2, score, score) for number, score in enumerate(scores)}
    return SweepRun(row, recipe(seed), Path(), 1234, "", rouge, loss, [90.0, 100.0, 2000.0], memory)


def recipe(seed: int) -> Any:  # noqa: ANN401 - what a table reads of a recipe
    return SimpleNamespace(seed=seed, train=SimpleNamespace(steps=4 + seed))


def test_seeds_are_taken_together() -> None:
    table = tabulate([outcome("a", 1, [0.1, 0.3], 2.0), outcome("a", 2, [0.3, 0.5], 2.2)], 100, ["a note"])
    columns, (cells,) = table.table()
    shown = dict(zip(columns, cells, strict=True))
    assert shown["parameters"] == "1,234"
    assert shown["ROUGE-1"] == "30.0 ±10.0 [20.0, 40.0]"
    assert shown["validation loss"] == "2.100 ±0.100"
    assert (shown["tokens/s"], shown["peak MiB"]) == ("100", "2")
    written = json.loads(table.to_json())
    assert written["scores"]["a"]["ROUGE-1"]["mean"] == pytest.approx(0.3)
    assert written["scores"]["a"]["ROUGE-1"]["by_seed"] == pytest.approx([0.2, 0.4])
    runs = [(run["seed"], run["steps"], run["validation_loss"]) for run in written["runs"]]
    assert runs == [(1, 5, 2.0), (2, 6, 2.2)]
    assert table.to_markdown().endswith("\n\n- a note\n")


def test_one_seed_has_no_spread_and_unknown_memory_is_a_dash() -> None:
    table = tabulate([outcome("a", 1, [0.2], memory=None)], 100)
    scores = ["20.0 [20.0, 20.0]", "10.0 [10.0, 10.0]", "20.0 [20.0, 20.0]", "20.0 [20.0, 20.0]"]
    assert table.table()[1] == [["a", "1,234", *scores, "3.000", "100", "-", "-", ""]]


def test_failures_with_one_reason_are_told_once_and_bars_are_escaped() -> None:
    table = tabulate([SweepRun("a", recipe(seed), Path(), 9, "it | broke\noff") for seed in (1, 2)], 100)
    assert table.table()[1][0][-1] == "failed with seed 1, 2: it | broke\noff"
    assert r"| failed with seed 1, 2: it \| broke off |" in table.to_markdown()
    assert json.loads(table.to_json())["runs"][0]["validation_loss"] is None
    assert tabulate([], 100).table()[1] == []


def test_rows_that_no_test_separates_are_named() -> None:
    def runs(name: str, gain: float) -> list[SweepRun]:
        return [outcome(name, seed, [gain + 0.01 * (seed + number % 7) for number in range(20)]) for seed in (1, 2)]

    table = tabulate([*runs("a", 0.1), *runs("b", 0.3), *runs("c", 0.1), *runs("d", 0.5)[:1]], 100)
    titles, rows = table.table()
    assert [row[titles.index("not separated from")] for row in rows] == ["c", "", "a", "-"]  # d lacks a seed
    first, second, difference, p_value = table.differences[0]
    assert (first, second) == ("a", "b")
    assert difference.mean == pytest.approx(-0.2)
    assert p_value == pytest.approx(3 / 10_001)  # the smallest of three tests


def test_a_sweep_keeps_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    require_sweep_folder(folder)
    for text in ("one", "two"):
        begin_folder(folder, "sweep")
        require_sweep_folder(folder)
        temporary_path(folder / "table.md").write_text(text)
        replace_listed_file(folder / "table.md", {}, "sweep")
        (folder / f"run-{text}").mkdir()
        require_sweep_folder(folder)
    assert (folder / "table.md").read_text() == "two"


@pytest.mark.parametrize("content", ["no manifest", "own table"])
def test_other_content_is_refused(tmp_path: Path, content: str) -> None:
    """Folders of other kinds are in tests/test_foreign_folders.py."""
    folder = tmp_path / "sweep"
    begin_folder(folder, "sweep")
    (folder / "table.md").write_text("my notes")
    if content == "no manifest":
        (folder / "manifest.json").unlink()
    expected = r"sweep must be new, empty or the folder of a sweep, got .*: name another with --out"
    with pytest.raises(RecipeError, match=expected):
        require_sweep_folder(folder)
