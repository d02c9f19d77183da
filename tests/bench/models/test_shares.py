import pytest

from sumpool.bench.measures.rates import RateRow
from sumpool.bench.measures.timing import Timing
from sumpool.bench.models.rows import ModelRow
from sumpool.bench.models.shares import fit_growth, share_rates, step_rows

RATES = (
    RateRow("fp32 products", 16, 100, Timing((1.0,))),
    RateRow("memory read", 16, 40, Timing((1.0,))),
    RateRow("memory copied", 16, 50, Timing((1.0,))),
)
ENCODE = ModelRow("encode", "model", 16, 1, Timing((2.0, 2.0)), operations=120, precision="fp32")
GENERATE = ModelRow("generate", "model", 16, 1, Timing((4.0, 6.0, 5.0)), precision="fp32")


def test_operations_are_held_against_the_same_turns() -> None:
    (row,) = share_rates([ENCODE], RATES)
    assert row.share == pytest.approx(120 / 2 / 100)


@pytest.mark.parametrize(
    "row",
    [
        ModelRow("encode", "theirs", 16, 1, Timing((2.0,)), operations=120),
        ModelRow("encode", "model", 16, 1, Timing((2.0,)), operations=120, precision="bf16"),
        ModelRow("encode", "model", 32, 1, Timing((2.0,)), operations=120, precision="fp32"),
        ModelRow("encode", "model", 16, 1, note="memory ended", operations=120, precision="fp32"),
        GENERATE,
    ],
    ids=["no precision", "other precision", "other length", "no time", "no operations"],
)
def test_no_share_without_a_rate(row: ModelRow) -> None:
    assert share_rates([row], RATES) == (row,)


def test_a_step_is_generation_less_encoding() -> None:
    (step,) = step_rows([ENCODE, GENERATE], RATES, {("model", 16): 60}, tokens=2)
    assert step.seconds == (5.0 - 2.0) / 2
    assert step.spread == 1.5
    assert step.bytes == 60
    assert step.share == pytest.approx(60 / 1.5 / 50)  # of the faster of both speeds


def test_a_peers_step_has_no_share() -> None:
    theirs = [ModelRow("encode", "x", 16, 1, Timing((1.0,))), ModelRow("generate", "x", 16, 1, Timing((2.0,)))]
    (step,) = step_rows(theirs, RATES, {}, tokens=1)
    assert (step.seconds, step.bytes, step.share) == (1.0, None, None)


@pytest.mark.parametrize("rows", [[GENERATE], [ENCODE], [ENCODE, ModelRow("generate", "model", 16, 1, Timing((2.0,)))]])
def test_no_step_where_one_is_missing_or_noise(rows: list[ModelRow]) -> None:
    assert step_rows(rows, RATES, {}, tokens=1) == ()


def test_no_growth_through_two_lengths() -> None:
    assert fit_growth([ModelRow("encode", "model", 2**n, 1, Timing((2.0**n,))) for n in range(2)]) == ()


def test_growth_leaves_out_what_was_not_measured() -> None:
    rows = [ModelRow("encode", "model", 2**n, 1, Timing((2.0**n,))) for n in range(4)]
    rows.append(ModelRow("encode", "model", 16, 1, note="memory ended"))
    (found,) = fit_growth(rows)
    assert (found.cost, found.lengths) == ("seconds", (1, 2, 4, 8))
    assert found.growth.exponent == pytest.approx(1.0)
