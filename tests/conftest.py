"""Fixtures that tests of several packages share."""

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


@pytest.fixture
def tiny_recipe(tmp_path: Path) -> Path:
    """A complete recipe of a model that trains in no time; it names data that is not there."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_RECIPE)
    return path
