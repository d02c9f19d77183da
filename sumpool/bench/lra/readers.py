"""Readers of the user's copies of tasks of the Long Range Arena, in their published formats.

Rows come in the order of the files; the split is that of the released input pipelines. The validation rows of `text`
are its test rows, as there.
"""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from sumpool.bench.lra_config import LraTask
from sumpool.errors import DataError

_TEXT = "the folder aclImdb (tar xzf aclImdb_v1.tar.gz, from ai.stanford.edu/~amaas/data/sentiment)"
_RETRIEVAL = (
    "a folder with new_aan_pairs.train.tsv, new_aan_pairs.eval.tsv and new_aan_pairs.test.tsv (tar xzf lra_release.gz, "
    "from storage.googleapis.com/long-range-arena; they are in lra_release/tsv_data)"
)
_IMAGE = "the folder cifar-10-batches-bin (tar xzf cifar-10-binary.tar.gz, from www.cs.toronto.edu/~kriz)"
_IMAGE_BYTES = 1 + 3 * 32 * 32
_VALIDATION_IMAGES = 5_000
_GREY = (0.2989, 0.5870, 0.1140)
"""Weights of red, green and blue."""


def read(task: LraTask, folder: Path | None, split: str) -> Iterator[tuple[Any, ...]]:
    """Read the inputs of each row of a split, one document or two, and its label.

    Raises:
        DataError: If the folder lacks a file, or a file is damaged.
    """
    readers = {"text": (_text, _TEXT), "retrieval": (_retrieval, _RETRIEVAL), "image": (_image, _IMAGE)}
    reader, expected = readers[task]
    if folder is None or not folder.is_dir():
        got = folder or "nothing"
        raise DataError(f"bench.data must be {expected}, got {got}; set it with --set bench.data=FOLDER")
    try:
        yield from reader(folder, split)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"bench.data must be {expected}, got {folder}: {error}") from error


def _text(folder: Path, split: str) -> Iterator[tuple[str, int]]:
    """Read reviews, negative and positive ones by turns."""
    part = folder / ("train" if split == "train" else "test")
    sides = [sorted((part / side).glob("*.txt")) for side in ("neg", "pos")]
    if not all(sides):
        raise DataError(
            f"bench.data must be {_TEXT}, got {folder} without reviews in {part.name}/neg or {part.name}/pos"
        )
    for pair in zip_longest(*sides):
        yield from ((path.read_text("utf-8"), label) for label, path in enumerate(pair) if path is not None)


def _retrieval(folder: Path, split: str) -> Iterator[tuple[str, str, int]]:
    """Read pairs of papers: label, both ids and both texts in a line."""
    path = folder / f"new_aan_pairs.{'eval' if split == 'validation' else split}.tsv"
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            match line.rstrip("\n").split("\t"):
                case [label, _, _, first, second] if label in ("0", "1", "0.0", "1.0"):
                    yield first, second, int(float(label))
                case cells:
                    raise DataError(
                        f"{path}:{number} must have a label, two ids and two texts, got {len(cells)} cells beginning "
                        f"with {cells[0][:20]!r}"
                    )


def _image(folder: Path, split: str) -> Iterator[tuple[str, int]]:
    """Read images in grey scale; the last 5,000 of the training images are the validation rows."""
    names = ["test_batch.bin"] if split == "test" else [f"data_batch_{number}.bin" for number in range(1, 6)]
    total = 0
    for name in names:
        size = (folder / name).stat().st_size
        if size % _IMAGE_BYTES:
            raise DataError(f"{folder / name} must have {_IMAGE_BYTES:,} bytes per image, got {size:,} bytes")
        total += size // _IMAGE_BYTES
    first_validation = max(0, total - _VALIDATION_IMAGES)
    number = 0
    for name in names:
        for row in np.fromfile(folder / name, np.uint8).reshape(-1, _IMAGE_BYTES):
            is_validation = split != "test" and number >= first_validation
            number += 1
            if is_validation != (split == "validation"):
                continue
            grey = np.tensordot(_GREY, row[1:].reshape(3, -1).astype(np.float64), 1)
            yield " ".join(map(str, np.round(grey).astype(np.uint8).tolist())), int(row[0])
