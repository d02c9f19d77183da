"""The shallow models of Pietruszka et al., "Trainable Representation Pooling": rows #1 to #32 of their Tables 2, 7, 8.

Every row is a model of ours with the settings of their Table 5 (two encoder and two decoder layers unless the row says
otherwise), beside what they report for it: seconds of a training step (batch 64) and of writing 256 and 512 forced
tokens (batch 8) on an A100, and ROUGE on arXiv.

Where the paper leaves something open: PoWER and Funnel have blockwise attention with blocks of 512. Its Efficient rows
have two heads of local attention too, and ours have none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sumpool.core.model.config import ModelConfig
from sumpool.variants import kinds

Number = Literal[2, 7, 8, 10]
"""A table of the paper; 10 lists the rows of all others."""
TABLES: dict[Number, tuple[int, int]] = {2: (1, 20), 7: (21, 26), 8: (27, 32), 10: (1, 32)}
"""First and last row of each table."""
BASE = 5
"""The row that ratios are taken to: Blockwise, 8k."""
TRAINING_BATCH, GENERATION_BATCH = 64, 8
VOCABULARY = 32_000
BLOCK = 512
SAME = {25: 8, 29: 2, 31: 6}
"""Rows that the paper prints twice."""


@dataclass(frozen=True)
class Published:
    """What the paper reports of a model.

    Attributes:
        training: Seconds of a training step.
        inference_256: Seconds of writing 256 tokens.
        inference_512: Seconds of writing 512 tokens.
        rouge_1: ROUGE-1 on arXiv.
        rouge_2: ROUGE-2 on arXiv.
    """

    training: float
    inference_256: float
    inference_512: float
    rouge_1: float
    rouge_2: float


@dataclass(frozen=True)
class PaperRow:
    """One row of a table.

    Attributes:
        number: The row's number in the paper, from 1 to 32.
        name: Architecture and lengths.
        config: The model; None where `note` says what it lacks.
        published: The paper's figures.
        note: What is not built yet, or is odd about the figures; empty where nothing is.
    """

    number: int
    name: str
    config: ModelConfig | None
    published: Published
    note: str = ""


# Training, writing 256, writing 512 (Table 10), R-1, R-2 (Table 9). Row 21 trains in 1.07 s in Table 7.
_PUBLISHED = {
    1: Published(0.13, 2.05, 4.23, 28.1, 8.3),
    2: Published(0.60, 2.76, 5.77, 38.2, 14.0),
    3: Published(4.46, 6.56, 13.27, 41.8, 16.1),
    4: Published(0.31, 2.58, 5.28, 38.6, 14.1),
    5: Published(0.85, 5.40, 11.49, 41.9, 16.7),
    6: Published(0.54, 2.09, 4.24, 39.1, 14.6),
    7: Published(1.44, 2.14, 4.28, 41.8, 16.4),
    8: Published(1.26, 2.71, 5.51, 42.7, 16.7),
    9: Published(0.19, 2.16, 4.27, 28.5, 7.5),
    10: Published(0.56, 3.01, 5.92, 33.6, 10.5),
    11: Published(1.69, 0.87, 13.41, 35.7, 11.2),
    12: Published(0.12, 2.16, 4.20, 28.4, 7.8),
    13: Published(0.29, 2.98, 5.91, 34.1, 10.4),
    14: Published(0.82, 6.91, 13.75, 35.0, 10.8),
    15: Published(1.04, 2.17, 4.28, 35.3, 12.7),
    16: Published(1.87, 2.71, 5.33, 36.9, 14.1),
    17: Published(2.06, 3.57, 6.92, 42.0, 16.5),
    18: Published(0.61, 2.07, 4.01, 38.6, 14.3),
    19: Published(1.78, 2.08, 4.03, 41.8, 16.5),
    20: Published(1.53, 2.64, 5.25, 42.0, 16.4),
    21: Published(1.05, 2.12, 4.18, 31.1, 11.5),
    22: Published(1.55, 2.12, 4.26, 41.2, 16.5),
    23: Published(1.78, 1.86, 3.74, 37.3, 14.3),
    24: Published(1.47, 2.69, 5.49, 43.0, 17.2),
    26: Published(1.74, 2.73, 5.54, 43.1, 17.3),
    27: Published(0.25, 2.51, 5.11, 39.1, 14.4),
    28: Published(0.31, 2.58, 5.28, 38.6, 14.1),
    30: Published(0.49, 2.04, 3.99, 38.2, 14.1),
    32: Published(0.82, 2.20, 4.49, 37.1, 13.7),
}
_MISPRINTS = {11: "0.87 s for 256 tokens is a misprint: 512 tokens take 13.41 s"}


def rows(table: Number) -> tuple[PaperRow, ...]:
    """Build the rows of a table, in the paper's order; 10 gives all 32."""
    first, last = TABLES[table]
    return tuple(_row(number) for number in range(first, last + 1))


def _row(number: int) -> PaperRow:
    model = _MODELS[SAME.get(number, number)]
    note = _MISPRINTS.get(number, "")
    missing = model.missing()
    config = None if missing else model.config()
    return PaperRow(number, model.name, config, _PUBLISHED[SAME.get(number, number)], missing or note)


@dataclass(frozen=True)
class _Model:
    """What sets one model apart.

    Attributes:
        name: Architecture and lengths.
        length: Source tokens.
        attention: Of every layer.
        pools: What follows each layer; as many as there are layers.
        restore: Whether the decoder sees what was pooled at its full length again.
    """

    name: str
    length: int
    attention: Mapping[str, Any]
    pools: Sequence[Mapping[str, Any] | None] = (None, None)
    restore: bool = False

    def missing(self) -> str:
        """Say what is not built yet; empty where everything is."""
        families = {
            "attention": [self.attention],
            "pooling": [pool for pool in self.pools if pool],
            "scoring": [pool["scorer"] for pool in self.pools if pool and "scorer" in pool],
        }
        lacking = {
            f"{family} {variant['kind']}"
            for family, variants in families.items()
            for variant in variants
            if variant["kind"] not in kinds(f"sumpool.core.{family}")
        }
        return f"not built: {', '.join(sorted(lacking))}" if lacking else ""

    def config(self) -> ModelConfig:
        """Give the settings of Table 5 to this model."""
        layers = [{"attention": self.attention} | ({"pool": pool} if pool else {}) for pool in self.pools]
        settings: dict[str, Any] = {
            "dim": 512,
            "heads": 8,
            "feed_forward": 2048,
            "activation": "relu",
            "norm": "post",
            "dropout": 0.1,
            "source_length": self.length,
            "encoder": layers,
            "restore": self.restore,
            "decoder": {"layers": 2, "positions": "none"},
            "output": {"kind": "tied"},
        }
        return ModelConfig.model_validate(settings)


_VANILLA = {"kind": "vanilla"}
_BLOCKWISE = {"kind": "blockwise", "block": BLOCK}
_NARROW = {"kind": "blockwise", "block": 128}
_LSH = {"kind": "lsh", "bucket": 64, "hashes": 4, "local_heads": 2}
_EFFICIENT = {"kind": "efficient"}


def _halving(keep: int) -> dict[str, Any]:
    return {"kind": "halving", "keep": keep, "scorer": {"kind": "linear"}}


def _power(keep: int) -> dict[str, Any]:
    return {"kind": "hard", "keep": keep, "scorer": {"kind": "attention_mass"}, "gradient": "none"}


def _funnel(window: int) -> dict[str, Any]:
    return {"kind": "funnel", "window": window, "stride": window}


_MODELS = {
    1: _Model("Vanilla 512", 512, _VANILLA),
    2: _Model("Vanilla 2k", 2048, _VANILLA),
    3: _Model("Vanilla 8k", 8192, _VANILLA),
    4: _Model("Blockwise 2k", 2048, _BLOCKWISE),
    5: _Model("Blockwise 8k", 8192, _BLOCKWISE),
    6: _Model("Transpooler 2k, 512", 2048, _BLOCKWISE, (None, _halving(512))),
    7: _Model("Transpooler 8k, 512", 8192, _BLOCKWISE, (None, _halving(512))),
    8: _Model("Transpooler 8k, 2k", 8192, _BLOCKWISE, (None, _halving(2048))),
    9: _Model("LSH 512", 512, _LSH),
    10: _Model("LSH 2k", 2048, _LSH),
    11: _Model("LSH 8k", 8192, _LSH),
    12: _Model("Efficient 512", 512, _EFFICIENT),
    13: _Model("Efficient 2k", 2048, _EFFICIENT),
    14: _Model("Efficient 8k", 8192, _EFFICIENT),
    15: _Model("PoWER 2k -> 1k, 512", 2048, _BLOCKWISE, (_power(1024), _power(512))),
    16: _Model("PoWER 8k -> 2k, 512", 8192, _BLOCKWISE, (_power(2048), _power(512))),
    17: _Model("PoWER 8k -> 4k, 2k", 8192, _BLOCKWISE, (_power(4096), _power(2048))),
    18: _Model("Funnel 2k -> 512, 2k", 2048, _BLOCKWISE, (_funnel(4), None), restore=True),
    19: _Model("Funnel 8k -> 512, 8k", 8192, _BLOCKWISE, (_funnel(16), None), restore=True),
    20: _Model("Funnel 8k -> 2k, 8k", 8192, _BLOCKWISE, (_funnel(4), None), restore=True),
    21: _Model("Pyramidion 8k -> 2k, 512", 8192, _BLOCKWISE, (_halving(2048), _halving(512))),
    22: _Model("Pyramidion 8k, 8k -> 2k, 512", 8192, _BLOCKWISE, (None, _halving(2048), _halving(512))),
    23: _Model(
        "Pyramidion 8k, 8k -> 2k -> 512, 128", 8192, _BLOCKWISE, (None, _halving(2048), _halving(512), _halving(128))
    ),
    24: _Model("Pyramidion 8k, 8k -> 4k, 2k", 8192, _BLOCKWISE, (None, _halving(4096), _halving(2048))),
    26: _Model("Transpooler 8k, 8k, 8k, 2k", 8192, _BLOCKWISE, (None, None, _halving(2048))),
    27: _Model("Blockwise 128, 2k", 2048, _NARROW),
    28: _Model("Blockwise 512, 2k", 2048, _BLOCKWISE),
    30: _Model("Transpooler 128, 2k, 512", 2048, _NARROW, (None, _halving(512))),
    32: _Model("Transpooler without blocks, 2k, 512", 2048, _VANILLA, (None, _halving(512))),
}
