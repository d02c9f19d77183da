"""The table of a sweep, from outcomes that are made up."""

import json
from dataclasses import replace

import pytest

from sumpool.runs.run_metrics import RunMetrics
from sumpool.runs.sweep_table import Outcome, tabulate


def metrics_of(scores: list[float], losses: list[tuple[float, float]], peak_memory: int | None = 2**21) -> RunMetrics:
    rouge = {f"d{number}": (score, score / 2, score) for number, score in enumerate(scores)}
    return RunMetrics(rouge, min(loss for _, loss in losses), losses, [90.0, 100.0, 2000.0], peak_memory, {})


FIRST = metrics_of([0.1, 0.3], [(10.0, 3.0), (20.0, 2.0)])
SECOND = metrics_of([0.3, 0.5], [(12.0, 2.4), (24.0, 2.2)])


def test_seeds_are_taken_together() -> None:
    table = tabulate([Outcome("a", 1, 1234, 5, FIRST), Outcome("a", 2, 1234, 6, SECOND)], None, 100, ["a note"])
    (system,) = table.systems
    assert system.rouge["rouge1"].mean == pytest.approx(0.3)
    assert system.rouge_by_seed["rouge1"] == pytest.approx([0.2, 0.4])
    assert (system.seeds, system.steps) == ([1, 2], [5, 6])
    assert table.target_loss == 2.2  # the worst of the last losses
    assert system.seconds_to_target == [20.0, 24.0]
    columns, (cells,) = table.table()
    shown = dict(zip(columns, cells, strict=True))
    assert shown["parameters"] == "1,234"
    assert shown["ROUGE-1"] == "30.0 ±10.0 [20.0, 40.0]"
    assert shown["validation loss"] == "2.100 ±0.100"
    assert shown["tokens/s"] == "100"
    assert shown["peak MiB"] == "2"
    assert shown["s to 2.200 nats"] == "22 ±2"
    assert json.loads(table.to_json())["systems"][0]["rouge"]["rouge1"]["mean"] == pytest.approx(0.3)
    assert table.to_markdown().endswith("\n\n- a note\n")


def test_a_loss_that_a_seed_never_reached_has_no_time() -> None:
    table = tabulate([Outcome("a", 1, 9, 5, FIRST), Outcome("a", 2, 9, 6, SECOND)], 2.1, 100)
    assert table.systems[0].seconds_to_target == [20.0, None]
    assert "-" in table.table()[1][0]


def test_one_seed_has_no_spread_and_unknown_memory_is_a_dash() -> None:
    table = tabulate([Outcome("a", 1, 9, 5, metrics_of([0.2], [(1.0, 3.0)], None))], None, 100)
    scores = ["20.0 [20.0, 20.0]", "10.0 [10.0, 10.0]", "20.0 [20.0, 20.0]"]
    assert table.table()[1] == [["a", "9", *scores, "3.000", "100", "-", "1", ""]]


def test_failures_with_one_reason_are_told_once_and_bars_are_escaped() -> None:
    failed = [Outcome("a", seed, 9, 5, failure="it | broke\noff") for seed in (1, 2)]
    table = tabulate(failed, None, 100)
    assert table.target_loss is None
    assert table.table()[1][0][-1] == "failed with seed 1, 2: it | broke\noff"
    assert r"| failed with seed 1, 2: it \| broke off |" in table.to_markdown()
    assert tabulate([], None, 100).table()[0][-2] == "s to target"


def test_columns_of_perplexity() -> None:
    measured = replace(metrics_of([0.2], [(1.0, 2.0)], 2**20), rouge_l=(0.1, 0.3), evaluation_speed=5000.0)
    failed, unknown = Outcome("b", 1, 9, 5, failure="memory ran out"), Outcome("c", 1, 9, 5, FIRST)
    table = tabulate([Outcome("a", 1, 1234, 5, measured), failed, unknown], None, 100, columns="perplexity")
    columns, (first, second, third) = table.table()
    assert columns[2:] == [
        "perplexity",
        "ROUGE-2",
        "ROUGE-L",
        "tokens/s, training",
        "tokens/s, evaluation",
        "peak MiB",
        "remarks",
    ]
    assert (first[2], first[4][:4], first[5:]) == ("7.39", "20.0", ["100", "5,000", "1", ""])
    assert second[2:] == [*["-"] * 6, "failed with seed 1: memory ran out"]
    assert (third[4], third[6]) == ("-", "-")
    assert {len(columns), len(first), len(second), len(third)} == {9}
    assert "| a | 1,234 | 7.39 |" in table.to_markdown()
