import pytest
import torch

from sumpool.bench import operator
from sumpool.bench.operator import measure_operators, similarity

CPU = torch.device("cpu")


def test_exact_top_k_is_one_in_any_order_and_scale() -> None:
    states = torch.randn(2, 6, 4)
    scores = torch.rand(2, 6)
    best = scores.topk(3).indices.flip(1)
    left = 5 * states.gather(1, best[..., None].expand(-1, -1, 4))
    assert similarity(states, scores, left) == pytest.approx(torch.ones(2))


def test_rows_that_are_lost_count_what_is_nearest_to_them() -> None:
    states = torch.eye(4)[None]
    scores = torch.tensor([[0.9, 0.8, 0.1, 0.2]])
    left = torch.stack([states[0, 0], (states[0, 1] + states[0, 2]) / 2])[None]
    assert float(similarity(states, scores, left)) == pytest.approx((1 + 0.5**0.5) / 2)


def test_halving_is_as_close_to_top_k_as_its_authors_report() -> None:
    rows = {(row.operator, row.keep): row for row in measure_operators(1, CPU)}
    for keep, published, tolerance in ((512, 0.986, 0.002), (32, 0.921, 0.005), (2, 0.412, 0.05)):
        row = rows["halving, base 20 twice", keep]
        assert row.published == published
        assert row.similarity == pytest.approx(published, abs=tolerance)
        assert rows["halving, hard", keep].similarity == pytest.approx(1.0)
    assert rows["halving, score", 512].rounds == 2


def test_check_may_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "DRAWS", 1)

    def check() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_operators(1, CPU, check=check)
