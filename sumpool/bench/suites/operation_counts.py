"""Parts of operation counts in closed form, see `sumpool.bench.suites.formulas`."""

from collections import Counter

Cost = Counter[str]
"""Operations (`maps`, `products`), and numbers held for the backward pass: `keys_values`; attention `weights`, where a
kernel does not compute them again (a fused one does); and `activations`, inputs of linear maps and queries."""


def linear(rows: int, inputs: int, outputs: int) -> int:
    """Operations of a linear map of some vectors."""
    return 2 * rows * inputs * outputs


def attend(queries: int, keys: int, dim: int) -> int:
    """Operations of scores and mixing: two products of queries and keys over all heads together."""
    return 2 * 2 * queries * keys * dim


def cost_of(maps: int, products: int, keys_values: int, weights: int, activations: int) -> Cost:
    """Name the parts of a cost."""
    return Counter(maps=maps, products=products, keys_values=keys_values, weights=weights, activations=activations)


def dense(length: int, seen: int, dim: int, heads: int) -> Cost:
    """Self-attention in which every token sees `seen` tokens."""
    maps, products = linear(length, dim, 4 * dim), attend(length, seen, dim)
    return cost_of(maps, products, 2 * length * dim, heads * length * seen, 3 * length * dim)


def share_of_heads(cost: Cost, kept: int, heads: int, inputs: int) -> Cost:
    """Cost of an attention with some of its heads, each of which costs the same.

    Args:
        cost: Cost with all heads.
        kept: Number of heads that remain.
        heads: Number of all heads.
        inputs: Numbers in the input of the attention, activations that all heads share.
    """
    part = Counter({name: value * kept // heads for name, value in (cost - Counter(activations=inputs)).items()})
    return part + Counter(activations=inputs)
