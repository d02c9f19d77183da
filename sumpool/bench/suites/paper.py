"""The shallow models of Pietruszka et al., "Trainable Representation Pooling": rows #1 to #32 of their Tables 2, 7, 8.

`paper.csv` has the rows with what the paper reports: seconds of a training step (batch 64) and of generating 256 and
512 forced tokens (batch 8) on an A100 (Table 10), and ROUGE on arXiv (Table 9). Pools are those after each layer, and
`restore` means that the decoder sees what was pooled at its full length again. Other settings are those of Table 5.

Where the paper leaves something open: PoWER and Funnel have blockwise attention with blocks of 512, and the two local
heads of Efficient a window of 256. Row 21 trains in 1.07 s in Table 7.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from sumpool.core.model.config import ModelConfig

TableNumber = Literal[2, 7, 8, 10]
"""A table of the paper; 10 lists the rows of all others."""
TABLES: Mapping[TableNumber, tuple[int, int]] = {2: (1, 20), 7: (21, 26), 8: (27, 32), 10: (1, 32)}
"""First and last row of each table."""
BASE = 5
"""The row that ratios are taken to: Blockwise, 8k."""
WORKS = ("train", "generate_256", "generate_512")
VOCABULARY = 32_000
SAME = {25: 8, 29: 2, 31: 6}
"""Rows that the paper prints twice."""
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "blockwise": {"block": None},
    "lsh": {"bucket": 64, "hashes": 4, "local_heads": 2},
    "efficient": {"local_heads": 2},
    "halving": {"keep": None, "scorer": {"kind": "linear"}},
    "hard": {"keep": None, "scorer": {"kind": "attention_mass"}, "gradient": "none"},
    "funnel": {"window": None, "stride": None},
}
"""Settings of variants; None is the number that follows a variant's kind in the file."""


@dataclass(frozen=True)
class PaperRow:
    """One row of a table: its number in the paper, name, model, published seconds of `WORKS`, and their errors."""

    number: int
    name: str
    config: ModelConfig
    published: Mapping[str, float]
    note: str = ""


def rows(table: TableNumber) -> tuple[PaperRow, ...]:
    """Rows of a table, in the paper's order; 10 has all 32."""
    first, last = TABLES[table]
    text = files(__package__).joinpath("paper.csv").read_text(encoding="utf-8")
    return tuple(_row(line) for line in list(csv.DictReader(text.splitlines()))[first - 1 : last])


def _row(line: Mapping[str, str]) -> PaperRow:
    """Row of the file, with the settings of Table 5."""
    *pools, last = line["pools"].split(" | ")
    restore = last == "restore"
    attention, pools = _variant(line["attention"]), pools if restore else [*pools, last]
    settings: dict[str, Any] = {
        "dim": 512,
        "heads": 8,
        "feed_forward": 2048,
        "activation": "relu",
        "norm": "post",
        "dropout": 0.1,
        "source_length": int(line["length"]),
        "encoder": [{"attention": attention, "pool": _variant(pool)} for pool in pools],
        "restore": restore,
        "decoder": {"layers": 2, "positions": "none"},
        "output": {"kind": "tied"},
    }
    published = {name: float(line[name]) for name in WORKS}
    return PaperRow(int(line["number"]), line["name"], ModelConfig.model_validate(settings), published, line["note"])


def _variant(words: str) -> dict[str, Any] | None:
    """Settings of a variant such as "halving 512"; None for "-"."""
    kind, _, size = words.partition(" ")
    known = {name: int(size) if value is None else value for name, value in _VARIANTS.get(kind, {}).items()}
    return None if kind == "-" else {"kind": kind, **known}
