"""What was counted of each variant: rows, their tables, and the claims of the paper beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from sumpool.bench.measures.cost import Operations
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import MISSING, Table, number, ratio
from sumpool.bench.suites.formulas import BYTES, Cost


@dataclass(frozen=True)
class Side:
    """Encoder or decoder of one model, for one document.

    Attributes:
        attention: Counted operations of its self-attention or cross-attention alone, in all layers.
        whole: Counted operations of all of it, the output head left out.
        attention_formula: What the formulas give for the attention, None where none is known.
        whole_formula: What they give for all of it.
    """

    attention: Operations
    whole: Operations
    attention_formula: Cost | None
    whole_formula: Cost | None

    @property
    def agrees(self) -> bool | None:
        """Whether both counters found the same, None where there is but one."""
        if self.attention_formula is None or self.whole_formula is None:
            return None
        return (self.attention, self.whole) == (self.attention_formula.operations, self.whole_formula.operations)


@dataclass(frozen=True)
class ComplexityRow:
    """One model.

    Attributes:
        name: Its variant.
        lengths: Vectors that enter each encoder layer.
        memory: Vectors that the decoder sees.
        encoder: Cost of the encoder, with its self-attention alone.
        decoder: Cost of the decoder, with its cross-attention alone.
    """

    name: str
    lengths: tuple[int, ...]
    memory: int
    encoder: Side
    decoder: Side


@dataclass(frozen=True)
class Claim:
    """How many times less DeepPyramidion computes than Blockwise.

    Attributes:
        what: Which operations.
        published: What the paper says, None where it says nothing.
        leaving: What is counted where the paper's lengths (8k, 8k, 2k, 512, 512, 512) are those that leave each layer.
        entering: What is counted where they are those that enter each layer.
    """

    what: str
    published: float | None
    leaving: float
    entering: float


@final
@dataclass(frozen=True)
class FoundComplexity(Found):
    """Every variant, and the paper's claims.

    Attributes:
        complexity: One row per attention, pooling and reading of DeepPyramidion.
        claims: Ratios beside the paper's; none where there are too few layers for DeepPyramidion.
    """

    complexity: tuple[ComplexityRow, ...]
    claims: tuple[Claim, ...]

    def tables(self) -> Iterator[Table]:
        """Encoder, decoder and claims."""
        yield _sides("encoder", "self-attention", "enters layers", self.complexity)
        yield _sides("decoder, without the output head", "cross-attention", "memory", self.complexity)
        if self.claims:
            yield _claims(self.claims)


def _sides(title: str, part: str, lengths: str, rows: Sequence[ComplexityRow]) -> Table:
    inner = part == "self-attention"
    sides = [row.encoder if inner else row.decoder for row in rows]
    base = next(side for row, side in zip(rows, sides, strict=True) if row.name == "attention vanilla")
    cells = tuple(
        (
            row.name,
            _lengths(row.lengths) if inner else f"{row.memory:,}",
            _giga(side.attention.products),
            ratio(base.attention.products, side.attention.products),
            _giga(side.attention.total),
            _giga(side.whole.total),
            ratio(base.whole.total, side.whole.total),
            *_bytes(side.attention_formula),
            _mebi(side.whole_formula.held.activations if side.whole_formula else None),
            {True: "yes", False: "NO", None: MISSING}[side.agrees],
        )
        for row, side in zip(rows, sides, strict=True)
    )
    counted = ("variant", lengths, "products Gop", "saved", f"{part} Gop", "whole Gop", "saved")
    columns = (*counted, "K, V MiB", "weights MiB", "others MiB", "agreed")
    notes = (
        f"products: scores and the mixing of values alone, as in the paper's Table 1; {part}: with its linear maps",
        "saved: how many times less than vanilla; Gop: 10^9 multiplications and additions, one document",
        "MiB: float32, all layers, by formula; K, V: keys and values; weights: of attention, which a fused kernel does "
        "not hold; others: inputs of linear maps, and queries",
        "agreed: torch's FlopCounterMode counts what the closed formulas give; -: no formula for this variant",
    )
    return Table(title, columns, cells, notes)


def _claims(claims: Sequence[Claim]) -> Table:
    rows = tuple(
        (claim.what, number(claim.published, 1), number(claim.leaving, 2), number(claim.entering, 2))
        for claim in claims
    )
    notes = (
        "leaving, entering: whether the paper's 8k, 8k, 2k, 512, 512, 512 are the lengths that leave each layer, as "
        "its text says, or enter it; its 2.5 is that of lengths that enter",
        "16 and 13 count products alone: with keys and values, which are projected once, cross-attention gains less",
        "13 needs summaries of 256 tokens and a causal mask that halves the products of self-attention: "
        "(8192 + 128) / (512 + 128); feed-forward layers and the other maps, which pooling leaves alone, bring it down",
    )
    return Table("Blockwise / DeepPyramidion", ("operations of", "published", "leaving", "entering"), rows, notes)


def _lengths(lengths: tuple[int, ...]) -> str:
    """Write 8192, 8192, 512 as 8,192 x2 512."""
    runs: list[list[int]] = []
    for length in lengths:
        if runs and runs[-1][0] == length:
            runs[-1][1] += 1
        else:
            runs.append([length, 1])
    return " ".join(f"{length:,}" + (f" x{times}" if times > 1 else "") for length, times in runs)


def _giga(operations: int) -> str:
    return number(operations / 1e9, 2)


def _mebi(numbers: int | None) -> str:
    return number(None if numbers is None else numbers * BYTES / 2**20, 1)


def _bytes(cost: Cost | None) -> tuple[str, str]:
    return (_mebi(cost.held.keys_values), _mebi(cost.held.weights)) if cost else (MISSING, MISSING)
