import pytest

from sumpool.runs.run_metrics import read_journal


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
