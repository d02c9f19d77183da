"""The table of a sweep, from outcomes that are made up, and its folder."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sumpool.errors import RecipeError
from sumpool.io.manifest import Manifest
from sumpool.workflows.sweep import SweepRun, claim_sweep, require_sweep_folder, save_tables, tabulate


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
        claim_sweep(folder)
        require_sweep_folder(folder)
        save_tables(folder, text, "{}")
        (folder / f"run-{text}").mkdir()
        require_sweep_folder(folder)
    assert (folder / "table.md").read_text() == "two"


@pytest.mark.parametrize("change", ["no manifest", "foreign manifest", "run", "edited table", "own table", "file"])
def test_other_content_is_refused(tmp_path: Path, change: str) -> None:
    folder = tmp_path / "sweep"
    if change == "file":
        folder.touch()
    else:
        claim_sweep(folder)
    match change:
        case "no manifest":
            save_tables(folder, "text", "{}")
            (folder / "manifest.json").unlink()
        case "foreign manifest":
            (folder / "manifest.json").write_text("{}")
        case "run":
            Manifest({}).write(folder)
        case "edited table":
            save_tables(folder, "text", "{}")
            (folder / "table.md").write_text("my notes")
        case "own table":
            (folder / "table.md").write_text("my notes")
    expected = r"sweep must be new, empty or the folder of a sweep, got .*: name another with --out"
    with pytest.raises(RecipeError, match=expected):
        require_sweep_folder(folder)
