import json
from itertools import islice

import pytest

from sumpool.studies.lra.listops import CLOSE, OPERATORS, Grammar, expressions, statistics

SMALL = Grammar(shortest=5, longest=60, arguments=4, depth=3)


def tree_value(symbols: list[str]) -> int:
    """Value of an expression by rewriting innermost operations, the naive twin."""
    while len(symbols) > 1:
        end = symbols.index(CLOSE)
        start = max(index for index in range(end) if symbols[index] in OPERATORS)
        values = sorted(map(int, symbols[start + 1 : end]))
        middle = len(values) // 2
        result = {
            "[MIN": values[0],
            "[MAX": values[-1],
            "[MED": values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) // 2,
            "[SM": sum(values) % 10,
        }[symbols[start]]
        symbols = [*symbols[:start], str(result), *symbols[end + 1 :]]
    return int(symbols[0])


def test_values_equal_those_of_the_naive_twin() -> None:
    for symbols, value in islice(expressions("1", SMALL), 300):
        assert value == tree_value(symbols)


def test_the_published_limits_hold() -> None:
    rows = list(islice(expressions("1"), 60))
    described = statistics(rows)
    assert described["length"]["min"] > 500
    assert described["length"]["max"] < 2000
    assert described["depth"]["max"] <= 10
    assert described["most arguments"] == 10
    assert all(0.2 < share < 0.3 for share in described["operators"].values())
    assert sum(described["values"].values()) == pytest.approx(1)


def test_small_limits_hold_too() -> None:
    described = statistics(list(islice(expressions("1", SMALL), 500)), SMALL)
    assert described["length"]["min"] == 6
    assert described["length"]["max"] < 60
    assert (described["depth"]["max"], described["most arguments"]) == (3, 4)
    assert described["published"]["depth"] == 3


def test_equal_seeds_give_equal_expressions_and_none_is_repeated() -> None:
    first, again = (list(islice(expressions("1", SMALL), 400)) for _ in range(2))
    assert first == again != list(islice(expressions("2", SMALL), 400))
    assert len({json.dumps(symbols) for symbols, _ in first}) == 400
