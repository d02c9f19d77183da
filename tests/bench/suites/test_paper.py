from sumpool.bench.suites.paper import SAME, rows
from sumpool.core.model.config import ModelConfig


def profile(config: ModelConfig) -> list[int]:
    """Vectors that enter each encoder layer, and those that the decoder sees, where poolers keep a number."""
    lengths = [config.source_length]
    for layer in config.encoder:
        lengths.append(int(getattr(layer.pool, "keep", lengths[-1])))
    return lengths


def test_lengths_are_those_of_the_paper() -> None:
    for number, lengths in (
        (5, [8192, 8192, 8192]),
        (7, [8192, 8192, 512]),
        (21, [8192, 2048, 512]),
        (22, [8192, 8192, 2048, 512]),
        (23, [8192, 8192, 2048, 512, 128]),
        (24, [8192, 8192, 4096, 2048]),
        (25, [8192, 8192, 2048]),
        (26, [8192, 8192, 8192, 2048]),
        (30, [2048, 2048, 512]),
    ):
        config = rows(10)[number - 1].config
        assert profile(config) == lengths


def test_rows_that_are_printed_twice_are_the_same_model() -> None:
    found = {row.number: row for row in rows(10)}
    for again, first in SAME.items():
        assert (found[again].config, found[again].published) == (found[first].config, found[first].published)
