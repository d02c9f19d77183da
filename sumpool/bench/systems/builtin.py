"""The model that is measured where there is neither a recipe nor a run: that of recipes/quickstart.yaml."""

from collections.abc import Mapping
from typing import Any

NAME = "quickstart"
_BLOCKWISE = {"attention": {"kind": "blockwise", "block": 128}}
QUICKSTART: Mapping[str, Any] = {
    "dim": 256,
    "heads": 4,
    "feed_forward": 1024,
    "source_length": 512,
    "target_length": 128,
    "encoder": [_BLOCKWISE | {"pool": {"kind": "halving", "keep": 128}}, _BLOCKWISE, _BLOCKWISE],
    "decoder": {"layers": 2},
    "output": {"kind": "pointer"},
}
"""Its `model` section."""
VOCABULARY = 6000
"""Its pieces."""
