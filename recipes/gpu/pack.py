"""Pack the prepared data of training recipes for a machine that takes few megabytes and has no documents.

    python recipes/gpu/pack.py gpu/gaps gpu/abstracts --out gpu-pack --mebibytes 30

prepares the data of each recipe unless that is done, and writes its token ids to `gpu-pack`: documents in random order,
truncated to the source length of the recipe, until the share of the recipe in the size is used. All stages must have
one vocabulary: the later ones name the data of the first as `data.tokenizer`.
"""

import argparse
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from packed import PACK, require_small_vocabulary, save_recipe, write_parts

from sumpool.data.config import Split
from sumpool.data.prepared_folder import find_or_prepare
from sumpool.data.shards import Item, Shard
from sumpool.io.manifest import REPORT
from sumpool.progress import no_op
from sumpool.recipe.files import find_recipe
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.special_tokens import SpecialTokens
from sumpool.text.tokenizer import EncodedDocument, load_tokenizer, tokenizer_files

_FIRST = range(400)
"""Validation documents that are packed."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Truncated(Sequence[Item]):
    """Documents of a shard in an order of their own, truncated as `collate` does it."""

    shard: Shard
    order: Sequence[int]
    recipe: Recipe
    special_tokens: SpecialTokens

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        item = self.shard[self.order[index]]
        model = self.recipe.model
        document = EncodedDocument(item.ids, item.sentences).truncate(model.source_length, self.special_tokens)
        target = None if item.target is None else item.target[: model.target_length]
        return Item(item.id, document.ids, document.sentences, target)


def main(argv: Sequence[str] | None = None) -> None:
    """Write the pack that the command line asks for."""
    arguments = _arguments(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    recipes = [load_recipe(find_recipe(Path(name)), arguments.set) for name in arguments.recipes]
    left = arguments.mebibytes * 2**20
    entries: list[dict[str, Any]] = []
    # later stages first, as their documents are few and all of them are wanted
    for number, recipe in reversed(list(enumerate(recipes))):
        entry = _pack_stage(recipe, arguments.out, left / (1 if number == 0 else 2))
        left -= entry["bytes"]
        entries.insert(0, entry)
        _LOG.info("%s: %s", recipe.name, ", ".join(f"{name} {value}" for name, value in entry.items()))
    (arguments.out / PACK).write_text(json.dumps({"stages": entries}, indent=1) + "\n")


def _pack_stage(recipe: Recipe, out: Path, max_bytes: float) -> dict[str, Any]:
    prepared = find_or_prepare(recipe.data, recipe.prepared_folder, skip_bad_rows=False, report=no_op, check=no_op)
    tokenizer = load_tokenizer(prepared)
    require_small_vocabulary(tokenizer.vocab_size)
    stage = out / recipe.name
    stage.mkdir(parents=True, exist_ok=True)
    for old in stage.glob("*.xz"):
        old.unlink()
    for path in (*tokenizer_files(prepared), prepared / REPORT):
        (stage / path.name).write_bytes(path.read_bytes())
    save_recipe(recipe, stage)
    entry: dict[str, Any] = {"name": recipe.name, "bytes": 0}
    splits: tuple[Split, ...] = ("validation", "train")
    for split in splits:
        shard = Shard(prepared, split)
        order = np.random.default_rng(recipe.seed).permutation(len(shard)).tolist() if split == "train" else _FIRST
        items = _Truncated(shard, order[: len(shard)], recipe, tokenizer.special_tokens)
        documents, size = write_parts(stage, split, items, max_bytes - entry["bytes"])
        entry |= {split: documents, f"{split}_of": len(shard), "bytes": entry["bytes"] + size}
    return entry


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+", help="recipes in the order of training")
    parser.add_argument("--out", type=Path, required=True, help="folder of the pack")
    parser.add_argument("--mebibytes", type=float, default=30, help="size of all stages together at most")
    parser.add_argument("--set", action="append", default=[], help="setting of every recipe to change, as KEY=VALUE")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
