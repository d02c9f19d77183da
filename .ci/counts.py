"""Counts what models cost and compares it with `counts.json`; fails where anything is no longer the same.

With --accept it writes the counts there instead, to be committed with the change that they are due to.
"""

import json
import sys
from pathlib import Path

import torch

from sumpool.bench.measures.counts import count_model, differences
from sumpool.bench.systems.workload import Conditions
from sumpool.recipe.load import load_recipe

HERE = Path(__file__).parent
BASELINE = HERE / "counts.json"
ACCEPT = ".venv/bin/python .ci/counts.py --accept"
VOCABULARY = 4000
LAYERS = 6
RECIPES: dict[str, list[str]] = {
    "quickstart.yaml": [],
    "papers/arxiv/deep_pyramidion.yaml": [  # an eighth of everything but the layers
        "model.dim=96",
        "model.feed_forward=384",
        "model.source_length=1024",
        "model.encoder[2].pool.keep=256",
        "model.encoder[3].pool.keep=64",
        *(f"model.encoder[{layer}].attention.block=64" for layer in range(LAYERS)),
    ],
}


def main(accept: bool) -> int:
    """Count and compare, or accept what was counted."""
    found = {name: _count(name, overrides) for name, overrides in RECIPES.items()}
    if accept:
        BASELINE.write_text(json.dumps({"torch": torch.__version__.split("+")[0], **found}, indent=1) + "\n")
        return 0
    before = json.loads(BASELINE.read_text())
    changed = [f"{name}: {each}" for name, now in found.items() for each in differences(before.get(name, {}), now)]
    if changed:
        last = f"{len(changed)} counts are no longer those of .ci/counts.json; to accept them: {ACCEPT}"
        sys.stdout.write("\n".join([*changed, last, ""]))
    return bool(changed)


def _count(name: str, overrides: list[str]) -> dict[str, int]:
    model = load_recipe(HERE.parent / "recipes" / name, overrides).model
    return count_model(model, Conditions(VOCABULARY, torch.device("cpu"), torch.float32))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--accept"]))
