"""Packed training data: the token ids of a split as uint16, in few small files that need no other library.

    STAGE/recipe.yaml, tokenizer.model, report.json   what a run folder copies
    STAGE/train-NN.xz, validation-NN.xz                               parts of a split, see `PackedSplit`
    pack.json                                                         stages in order, with their counts

Each part holds three arrays, one after the other: int32 (documents, 3) with the number of tokens, of sentences and of
summary tokens; uint16 token ids of the documents and then of the summaries; uint16 tokens of each sentence.
"""

import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sumpool.data.shards import Item
from sumpool.errors import DataError
from sumpool.io.manifest import RECIPE, REPORT, FileDigest, Manifest
from sumpool.recipe.load import dump_recipe, load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.text.tokenizer import tokenizer_files

PACK = "pack.json"
_PART_TOKENS = 1 << 20
"""Tokens of a part, about 1.4 MB compressed."""
_MAX_VOCABULARY = 1 << 16


@dataclass(frozen=True)
class PackedSplit:
    """Documents of a split in memory, in the order of their packing.

    Attributes:
        name: Name of the split, which the ids of its documents begin with.
        counts: (documents, 3) tokens, sentences and summary tokens of each document.
        ends: (documents, 3) sums of `counts` up to and with each document.
        tokens: Tokens of each document followed by those of its summary, concatenated.
        sentences: Tokens of each sentence, concatenated.
    """

    name: str
    counts: np.ndarray
    ends: np.ndarray
    tokens: np.ndarray
    sentences: np.ndarray

    @classmethod
    def read(cls, folder: Path, split: str) -> "PackedSplit":
        """Read all parts of a split.

        Raises:
            DataError: If there is no part.
        """
        parts = []
        for path in sorted(folder.glob(f"{split}-*.xz")):
            with lzma.open(path) as file:
                parts.append([np.lib.format.read_array(file, allow_pickle=False) for _ in range(3)])
        if not parts:
            raise DataError(f"{folder} must hold parts of the {split} split, got none: pack the data again")
        counts, tokens, sentences = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return cls(split, counts, counts.cumsum(0, dtype=np.int64), tokens, sentences)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each document, (documents,)."""
        lengths: np.ndarray = self.counts[:, 0].astype(np.int64)
        return lengths

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, index: int) -> Item:
        length, sentences, summary = self.counts[index].tolist()
        tokens, first, summaries = (self.ends[index] - self.counts[index]).tolist()
        start = tokens + summaries
        sizes = self.sentences[first : first + sentences]
        return Item(
            id=f"{self.name}/{index}",
            ids=self.tokens[start : start + length],
            sentences=np.repeat(np.arange(sentences, dtype=np.int32), sizes),
            target=self.tokens[start + length : start + length + summary],
        )


def write_parts(folder: Path, split: str, items: Sequence[Item], max_bytes: float) -> tuple[int, int]:
    """Write documents in parts until a size is reached.

    Returns:
        Documents and bytes written.
    """
    documents = written = number = 0
    while documents < len(items) and written < max_bytes:
        part: list[Item] = []
        size = 0
        while documents + len(part) < len(items) and size < _PART_TOKENS:
            part.append(items[documents + len(part)])
            size += len(part[-1].ids)
        path = folder / f"{split}-{number:02d}.xz"
        _write_part(path, part)
        documents, written, number = documents + len(part), written + path.stat().st_size, number + 1
    return documents, written


def _write_part(path: Path, items: Sequence[Item]) -> None:
    counts, tokens, sizes = [], [], []
    for item in items:
        assert item.target is not None, "a training document has a summary"
        _, lengths = np.unique(item.sentences, return_counts=True)
        counts.append((len(item.ids), len(lengths), len(item.target)))
        tokens += [item.ids, item.target]
        sizes.append(lengths)
    arrays = (
        np.array(counts, np.int32),
        np.concatenate(tokens).astype(np.uint16),
        np.concatenate(sizes).astype(np.uint16),
    )
    with lzma.open(path, "wb") as file:
        for array in arrays:
            np.lib.format.write_array(file, array, allow_pickle=False)


def require_small_vocabulary(size: int) -> None:
    """Check that the ids of a vocabulary are uint16.

    Raises:
        DataError: If there are more ids.
    """
    if size > _MAX_VOCABULARY:
        raise DataError(f"the vocabulary of packed data must have at most {_MAX_VOCABULARY:,} tokens, got {size:,}")


def stages(pack: Path) -> list[str]:
    """Return the names of the stages of a pack, in order.

    Raises:
        DataError: If the folder is no pack.
    """
    try:
        names: list[str] = [stage["name"] for stage in json.loads((pack / PACK).read_text())["stages"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{pack} must be a folder that pack.py wrote, got {error!r}") from error
    return names


def begin_run(run: Path, stage: Path) -> Recipe:
    """Make the run folder of a stage, without weights, unless it exists; return its recipe."""
    if not (run / "manifest.json").is_file():
        run.mkdir(parents=True, exist_ok=True)
        names = [RECIPE, *(path.name for path in tokenizer_files(stage)), REPORT]
        for name in names:
            (run / name).write_bytes((stage / name).read_bytes())
        Manifest({name: FileDigest.of(run / name) for name in names}).write(run)
    return load_recipe(run / RECIPE)


def save_recipe(recipe: Recipe, stage: Path) -> None:
    """Write the recipe of a stage."""
    (stage / RECIPE).write_text(dump_recipe(recipe))
