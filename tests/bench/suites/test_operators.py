from collections.abc import Mapping
from functools import partial

import pytest
import torch
from torch import Tensor

from sumpool.bench.config import OperatorsConfig
from sumpool.bench.measures.timing import Timing
from sumpool.bench.suites import operators
from sumpool.bench.suites.operator_tables import HARD, LOOP, PUBLISHED, SORTED, by_cell
from sumpool.bench.suites.operators import measure_operators, similarity
from sumpool.bench.systems.workload import Conditions
from sumpool.core.pooling.iterative import iterate
from sumpool.progress import go_on

CONDITIONS = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
SMALL = OperatorsConfig(lengths=(32, 8), batch=3, repeats=1, model_dim=8)


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


def test_similarity_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for at_once in (1, 7, 2**24):
        states, scores, left = torch.randn(2, 9, 4), torch.rand(2, 9), torch.randn(2, 5, 4)
        cosine = torch.nn.functional.cosine_similarity
        expected = [
            sum(
                max(float(cosine(states[row, best], one, dim=0)) for one in left[row])
                for best in scores[row].topk(5).indices
            )
            / 5
            for row in range(2)
        ]
        monkeypatch.setattr(operators, "AT_ONCE", at_once)
        assert similarity(states, scores, left).tolist() == pytest.approx(expected, abs=1e-6)


def test_every_operator_at_every_length_and_number_kept() -> None:
    rows = measure_operators(SMALL, CONDITIONS).rows["operators"]
    cells = by_cell(rows)
    assert list(cells) == [(8, 2), (8, 4), (32, 2), (32, 4), (32, 8), (32, 16)]
    assert {tuple(operators_of) for operators_of in cells.values()} == {tuple(operators.OPERATORS)}
    assert all(row.timing and row["similarity"] for row in rows)


def test_halving_is_as_close_to_top_k_as_its_authors_report() -> None:
    settings = OperatorsConfig(repeats=1)
    others = dict.fromkeys(operators.OPERATORS.keys() - {SORTED, HARD}, "not compared")
    measure = partial(operators._measure, settings=settings, conditions=CONDITIONS, left_out=others, check=go_on)
    cells = by_cell([row for keep in (256, 128, 32, 2) for row in measure(512, keep)])
    for keep, tolerance in ((256, 0.002), (128, 0.002), (32, 0.005), (2, 0.05)):
        row = cells[512, keep][SORTED]
        assert row["similarity"] == pytest.approx(PUBLISHED[512][keep], abs=tolerance)
        assert cells[512, keep][HARD]["similarity"] == pytest.approx(1.0)
    assert cells[512, 2][SORTED]["rounds"] == 8


def test_what_would_take_too_long_is_left_out_with_a_note() -> None:
    result = measure_operators(SMALL.model_copy(update={"seconds": 1e-9}), CONDITIONS)
    rows = by_cell(result.rows["operators"])
    assert rows[8, 2][LOOP].timing
    assert rows[32, 16][LOOP].note.startswith("would take")
    assert rows[32, 16][LOOP].timing is None
    assert rows[32, 16][SORTED].timing


@pytest.mark.parametrize(("faster", "expected"), [(4, 4), (2, 2), (None, None)])
def test_the_first_number_at_which_halving_is_faster_is_found(
    monkeypatch: pytest.MonkeyPatch, faster: int | None, expected: int | None
) -> None:
    def clocked(works: Mapping[str, partial[Tensor]], *_: object) -> dict[str, Timing]:
        keep = works[LOOP].args[2]
        assert works[LOOP].args[0].size(2) == SMALL.model_dim
        wins = faster is not None and keep >= faster
        return {SORTED: Timing((1.0 if wins else 3.0,)), LOOP: Timing((2.0,))}

    monkeypatch.setattr(operators, "interleave", clocked)
    assert operators._crossing(16, SMALL, CONDITIONS, go_on) == expected


def test_similarity_by_weights_and_sharpness() -> None:
    settings = SMALL.model_copy(update={"lengths": (64,), "sharpness": (1.0, 20.0)})
    result = measure_operators(settings, CONDITIONS)
    rows = result.rows["sharpness"]
    sizes = [(64, keep) for keep in (2, 32)]
    kinds = [(weights, sharpness) for weights in ("distance", "softmax") for sharpness in (1.0, 20.0)]
    assert [(row["length"], row["keep"], row["weights"], row["sharpness"]) for row in rows] == [
        (*cell, *kind) for cell in sizes for kind in kinds
    ]
    (table,) = (table for table in result.tables if "sharpness" in table.title)
    assert table.headings() == ["vectors", "kept", "weights", "a = 1", "a = 20"]
    assert len(table.cells()) == 4


def test_softmax_weights_are_nearer_to_exact_top_k_than_published_ones() -> None:
    settings = OperatorsConfig(lengths=(512,), batch=1, repeats=1, seconds=1e-9, sharpness=(1.0, 20.0, 100.0))
    rows = measure_operators(settings, CONDITIONS).rows["sharpness"]
    similarities = {(row["weights"], row["sharpness"]): row["similarity"] for row in rows if row["keep"] == 256}
    for weights in ("distance", "softmax"):
        values = [similarities[weights, sharpness] for sharpness in settings.sharpness]
        assert values == sorted(values)
    states, scores = next(operators._draw(512, 256, 32, 1, CONDITIONS))
    mask = torch.ones_like(scores, dtype=torch.bool)
    pools = {kind: iterate(states, scores, mask, 256, 20.0, kind) for kind in operators.WEIGHTS}
    for kind, pooled in pools.items():  # the plain loop
        expected = float(similarity(states, scores, pooled).mean())
        assert similarities[kind, 20.0] == pytest.approx(expected, abs=0.02)
    assert similarities["softmax", 20.0] > similarities["distance", 20.0] + 0.05
