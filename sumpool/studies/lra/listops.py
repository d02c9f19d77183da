"""ListOps of the Long Range Arena: nested operations on digits (Nangia and Bowman, 2018; Tay et al., 2021).

    [MAX 4 3 [MIN 2 3 ] 1 0 [MED 1 5 8 9 2 ] ]  ->  5

The published generator, as a grammar: below the greatest depth an expression is an operation with probability 1/4, else
a digit; an operation has 2 to 10 arguments. Operators are the minimum, the maximum, the median rounded down, and the
sum modulo 10. Expressions of more than 500 and fewer than 2,000 symbols are kept. Parentheses, which are in the
released files and which its input pipeline removes, are left out.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

_OPERATION_SHARE = 0.25
OPERATORS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(median(values)),
    "[SM": lambda values: sum(values) % 10,
}
CLOSE = "]"


@dataclass(frozen=True)
class Grammar:
    """Limits of expressions; the published ones by default.

    Attributes:
        shortest: Number of symbols that an expression exceeds.
        longest: Number of symbols that an expression stays below.
        arguments: Maximum arguments of an operation.
        depth: Greatest depth of an expression; the outermost one has depth 1.
    """

    shortest: int = 500
    longest: int = 2000
    arguments: int = 10
    depth: int = 10


PUBLISHED = Grammar()


class _TooLongError(Exception):
    """Raised where an expression has reached the maximum length."""


def expressions(seed: str, grammar: Grammar = PUBLISHED) -> Iterator[tuple[list[str], int]]:
    """Generate different expressions with their values, without end; equal seeds give equal expressions."""
    draw = random.Random(seed)
    seen: set[int] = set()
    while True:
        symbols: list[str] = []
        try:
            value = _expression(draw, grammar, 1, symbols)
        except _TooLongError:
            continue
        digest = hash(tuple(map(_code, symbols)))
        if len(symbols) > grammar.shortest and digest not in seen:
            seen.add(digest)
            yield symbols, value


def statistics(rows: Sequence[tuple[list[str], int]], grammar: Grammar = PUBLISHED) -> dict[str, Any]:
    """Describe expressions: lengths, depths, arguments, operators and values, beside the limits of the grammar."""
    lengths = [len(symbols) for symbols, _ in rows]
    shapes = [_shape(symbols) for symbols, _ in rows]
    operators = Counter(symbol for symbols, _ in rows for symbol in symbols if symbol in OPERATORS)
    values = Counter(value for _, value in rows)
    return {
        "length": {"min": min(lengths), "mean": fmean(lengths), "max": max(lengths)},
        "depth": {"mean": fmean(depth for depth, _ in shapes), "max": max(depth for depth, _ in shapes)},
        "most arguments": max(arguments for _, arguments in shapes),
        "operators": {name: operators[name] / operators.total() for name in OPERATORS},
        "values": {str(value): values[value] / len(rows) for value in range(10)},
        "published": {
            "length": f"above {grammar.shortest}, below {grammar.longest}",
            "depth": grammar.depth,
            "most arguments": grammar.arguments,
            "operators": 1 / len(OPERATORS),
        },
    }


def _expression(draw: random.Random, grammar: Grammar, depth: int, symbols: list[str]) -> int:
    """Append the symbols of a random expression, and return its value."""
    if depth >= grammar.depth or draw.random() > _OPERATION_SHARE:
        value = int(10 * draw.random())
        symbols.append(str(value))
        return value
    operator = draw.choice(tuple(OPERATORS))
    symbols.append(operator)
    count = draw.randint(2, grammar.arguments)
    values = []
    for _ in range(count):
        if len(symbols) >= grammar.longest:
            raise _TooLongError
        values.append(_expression(draw, grammar, depth + 1, symbols))
    symbols.append(CLOSE)
    if len(symbols) >= grammar.longest:
        raise _TooLongError
    return OPERATORS[operator](values)


def _shape(symbols: Sequence[str]) -> tuple[int, int]:
    """Return depth, as the grammar counts it, and most arguments of an expression."""
    counts, depth, most = [0], 1, 0
    for symbol in symbols:
        if symbol == CLOSE:
            most = max(most, counts.pop())
            continue
        counts[-1] += 1
        if symbol in OPERATORS:
            counts.append(0)
        depth = max(depth, len(counts))
    return depth, most


def _code(symbol: str) -> int:
    """Number of a symbol, the same in every process, unlike the hash of a text."""
    return int(symbol) if symbol.isdecimal() else 10 + [*OPERATORS, CLOSE].index(symbol)
