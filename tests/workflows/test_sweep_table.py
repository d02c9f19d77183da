"""The table of a sweep, from outcomes that are made up."""

import json

import pytest

from sumpool.workflows.sweep import Outcome, RunMetrics, read_journal, tabulate


def metrics_of(scores: list[float], losses: list[tuple[float, float]], peak_memory: int | None = 2**21) -> RunMetrics:
    rouge = {f"d{number}": (score, score / 2, score, score) for number, score in enumerate(scores)}
    speed = peak_memory and 5000.0
    return RunMetrics(rouge, min(loss for _, loss in losses), losses, [90.0, 100.0, 2000.0], {}, peak_memory, speed)


FIRST = metrics_of([0.1, 0.3], [(10.0, 3.0), (20.0, 2.0)])
SECOND = metrics_of([0.3, 0.5], [(12.0, 2.4), (24.0, 2.2)])


def test_seeds_are_taken_together() -> None:
    table = tabulate([Outcome("a", 1, 1234, 5, FIRST), Outcome("a", 2, 1234, 6, SECOND)], 100, ["a note"])
    (system,) = table.systems
    assert system.scores["ROUGE-1"].mean == pytest.approx(0.3)
    assert system.scores_by_seed["ROUGE-1"] == pytest.approx([0.2, 0.4])
    assert (system.seeds, system.steps) == ([1, 2], [5, 6])
    assert table.target_loss == 2.2  # the worst of the last losses
    assert system.seconds_to_target == [20.0, 24.0]
    columns, (cells,) = table.table()
    shown = dict(zip(columns, cells, strict=True))
    assert shown["parameters"] == "1,234"
    assert shown["ROUGE-1"] == "30.0 ±10.0 [20.0, 40.0]"
    assert shown["validation loss"] == "2.100 ±0.100"
    assert (shown["tokens/s"], shown["tokens/s, evaluation"]) == ("100", "5,000")
    assert shown["peak MiB"] == "2"
    assert shown["s to 2.200 nats"] == "22 ±2"
    assert json.loads(table.to_json())["systems"][0]["scores"]["ROUGE-1"]["mean"] == pytest.approx(0.3)
    assert table.to_markdown().endswith("\n\n- a note\n")


def test_one_seed_has_no_spread_and_unknown_memory_is_a_dash() -> None:
    table = tabulate([Outcome("a", 1, 9, 5, metrics_of([0.2], [(1.0, 3.0)], None))], 100)
    scores = ["20.0 [20.0, 20.0]", "10.0 [10.0, 10.0]", "20.0 [20.0, 20.0]", "20.0 [20.0, 20.0]"]
    assert table.table()[1] == [["a", "9", *scores, "3.000", "100", "-", "-", "1", "-", ""]]


def test_failures_with_one_reason_are_told_once_and_bars_are_escaped() -> None:
    failed = [Outcome("a", seed, 9, 5, failure="it | broke\noff") for seed in (1, 2)]
    table = tabulate(failed, 100)
    assert table.target_loss is None
    assert table.table()[1][0][-1] == "failed with seed 1, 2: it | broke\noff"
    assert r"| failed with seed 1, 2: it \| broke off |" in table.to_markdown()
    assert tabulate([], 100).table()[0][-3] == "s to target"


def test_rows_that_no_test_separates_are_named() -> None:
    def runs(name: str, gain: float) -> list[Outcome]:
        scores = [[gain + 0.01 * (seed + number % 7) for number in range(20)] for seed in (1, 2)]
        return [Outcome(name, seed, 9, 5, metrics_of(scores[seed - 1], [(1.0, 3.0)])) for seed in (1, 2)]

    table = tabulate([*runs("a", 0.1), *runs("b", 0.3), *runs("c", 0.1), *runs("d", 0.5)[:1]], 100)
    titles, rows = table.table()
    assert [row[titles.index("not separated from")] for row in rows] == ["c", "", "a", "-"]  # d lacks a seed
    first, second, difference, p_value = table.differences[0]
    assert (first, second) == ("a", "b")
    assert difference.mean == pytest.approx(-0.2)
    assert p_value == pytest.approx(3 / 10_001)  # the smallest of three tests


def test_losses_speeds_and_the_last_layer_metrics_are_read_from_a_metrics_log() -> None:
    steps = [
        {"kind": "step", "step": step, "seconds": 0.5, "tokens_per_second": step, "layer_1.winner_share": step / 100}
        for step in range(1, 21)
    ]
    journal = [*steps[:4], {"kind": "validation", "step": 4, "nats": 3.0}, *steps[4:]]
    losses, speeds, layer_metrics = read_journal([*journal, {"kind": "validation", "step": 20, "nats": 2.0}])
    assert losses == [(2.0, 3.0), (10.0, 2.0)]
    assert speeds == list(range(1, 21))
    assert layer_metrics == {"layer_1.winner_share": pytest.approx(0.155)}
    assert read_journal([]) == ([], [], {})
