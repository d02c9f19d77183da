"""Time of training updates by how their documents are batched: `python docs/scripts/updates.py RECIPE`.

The same random documents, of a quarter to all of `--tokens`, as whole padded documents, in chunks of blocks, as two
accumulated batches, and with `train.auto_batch`. They take turns in one process; medians of wall-clock seconds.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import collate
from sumpool.data.shards import Item
from sumpool.recipe.load import load_recipe
from sumpool.training.hardware import keep_freed_memory
from sumpool.training.update import Updater


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path, help="recipe, or run folder")
    parser.add_argument("--vocabulary", type=int, default=8_000)
    parser.add_argument("--documents", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=512, help="tokens of the longest document")
    parser.add_argument("--repeat", type=int, default=9)
    arguments = parser.parse_args()
    keep_freed_memory()
    torch.manual_seed(0)
    recipe = load_recipe(arguments.recipe, ())
    numbers = np.random.default_rng(0)

    def document(name: str, length: int) -> Item:
        ids, target = (numbers.integers(5, arguments.vocabulary, count) for count in (length, 96))
        return Item(name, ids, np.arange(length) // 25, target)

    lengths = np.linspace(arguments.tokens // 4, arguments.tokens, arguments.documents).astype(int)
    items = [document(str(number), int(length)) for number, length in enumerate(lengths)]
    whole = [collate(items, arguments.tokens, recipe.model.target_length)]
    half = len(items) // 2
    halves = [collate(part, arguments.tokens, recipe.model.target_length) for part in (items[:half], items[half:])]
    model = SummarizationModel(recipe.model, arguments.vocabulary)
    updater = Updater(model, recipe.train, torch.device("cpu"))
    divided = Updater(model, recipe.train.model_copy(update={"auto_batch": True}), torch.device("cpu"))
    ways = {
        "padded": (updater, whole, False),
        "in chunks": (updater, whole, True),
        "in chunks, --auto-batch": (divided, whole, True),
        "in chunks, two batches": (updater, halves, True),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(arguments.repeat + 1):
        for name, (each, batches, model.encoder.chunked) in ways.items():
            start = time.perf_counter()
            each.update(batches, 1e-6)
            times[name] += [time.perf_counter() - start] if turn else []
    padded = statistics.median(times["padded"])
    for name, seconds in times.items():
        median, spread = statistics.median(seconds), max(seconds) / min(seconds)
        sys.stdout.write(f"{name}: {1e3 * median:.0f} ms, {median / padded:.2f} of padded, spread {spread:.2f}\n")


if __name__ == "__main__":
    main()
