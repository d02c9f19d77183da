"""Fixtures that tests of several packages share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

TINY_RECIPE = """\
name: tiny
data: {source: {kind: jsonl, path: train.jsonl}, vocabulary: 300}
model:
  dim: 16
  heads: 2
  feed_forward: 32
  source_length: 64
  target_length: 16
  encoder:
    - {attention: {kind: blockwise, block: 16}}
    - {attention: {kind: blockwise, block: 16}, pool: {kind: halving, keep: 16, scorer: {kind: linear}}}
  decoder: {layers: 1}
train: {steps: 4, batch_tokens: 256, learning_rate: 1e-3}
"""


LONGEST_NAME = 60
"""Characters of a parameter that name a test."""


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a test whose parameter is a long text after the beginning of it, so that its name fits a line."""
    name = ascii(val).removeprefix("b")[1:-1] if isinstance(val, str | bytes) else ""
    return f"{name[:LONGEST_NAME]}..." if len(name) > LONGEST_NAME else None


@pytest.fixture
def tiny_recipe(tmp_path: Path) -> Path:
    """A complete recipe of a model that trains in no time; it names data that is not there."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_RECIPE)
    return path


@pytest.fixture(scope="session")
def small_probes() -> Iterator[None]:
    """Let a bench measure the machine itself in no time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sumpool.bench.measures.rates.SIDE", {"cpu": 8, "cuda": 8})
        patch.setattr("sumpool.bench.measures.rates.BUFFER", {"cpu": 1024, "cuda": 1024})
        yield
