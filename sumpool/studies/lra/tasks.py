"""Data of a task of the Long Range Arena: generated, or read from the user's copy; in one folder with its settings.

<folder>/train.jsonl, validation.jsonl, test.jsonl   rows of `kind: labelled`
<folder>/data.json                                   settings, numbers of rows, and what was drawn

A copy is read in its published format. Rows come in the order of the files; the split is that of the released input
pipelines. The validation rows of `text` are its test rows, as there.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice, zip_longest
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from sumpool.data.config import SPLITS
from sumpool.errors import DataError, RecipeError
from sumpool.io.atomic import disk_errors, replace_folder
from sumpool.io.bounded import parse_json, read_regular
from sumpool.progress import Check, Progress, Report
from sumpool.studies.config import LraConfig, LraTask
from sumpool.studies.lra import pathfinder

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
DATA = "data.json"
_PUBLISHED_ROWS: Mapping[LraTask, tuple[int, int, int]] = {
    "listops": (96_000, 2_000, 2_000),
    "pathfinder32": (160_000, 20_000, 20_000),
    "pathx128": (160_000, 20_000, 20_000),
}
"""Rows of training, validation and test of the generated tasks."""
_REPORT_ROWS = 100
_DESCRIBED_ROWS = 500

# ListOps: nested operations on digits (Nangia and Bowman, 2018; Tay et al., 2021), by the published generator as a
# grammar: [MAX 4 3 [MIN 2 3 ] 1 0 [MED 1 5 8 9 2 ] ]  ->  5. Below the greatest depth an expression is an operation
# with probability 1/4, else a digit. Parentheses, which are in the released files and which its input pipeline removes,
# are left out.
_OPERATION_SHARE = 0.25
OPERATORS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(median(values)),
    "[SM": lambda values: sum(values) % 10,
}
CLOSE = "]"


def make_data(
    config: LraConfig, seed: int, folder: Path, report: Report, check: Check
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Generate the rows of a task, or read the user's copy, unless the folder holds the same ones.

    Args:
        config: Task, numbers of rows, and the user's copy.
        seed: Seed of generated rows.
        folder: Destination; replaced if it holds rows of other settings.
        report: Called with progress.
        check: Called for every row.

    Returns:
        Number of rows of each split, whose files are `train.jsonl` and so on; and the counts of `pathfinder.images`.

    Raises:
        RecipeError: If the folder holds something else, or Pillow is missing.
        DataError: If the user's copy is missing or damaged.
        ResourceError: If the disk is full or fails.
    """
    counts = config.rows or _PUBLISHED_ROWS.get(config.task)
    origin: dict[str, Any] = {"seed": seed} if config.task in _PUBLISHED_ROWS else {"data": str(config.data)}
    about = {"task": config.task, "rows": counts, **origin}
    kept: Any = {}
    with suppress(OSError, ValueError):
        kept = parse_json(read_regular(folder / DATA))
    if not isinstance(kept, dict) or "rows" not in kept:
        kept = {}
    if kept.get("settings") == parse_json(json.dumps(about)) and all(
        (folder / f"{split}.jsonl").is_file() for split in SPLITS
    ):
        return kept["rows"], kept.get("drawn", {})
    if folder.exists() and any(folder.iterdir()) and not kept:
        raise RecipeError(f"{folder} must be new or hold the data of study lra, got other files; set study.folder")
    if config.task in pathfinder.DRAWINGS and find_spec("PIL") is None:
        raise RecipeError(f"study.task={config.task} must have Pillow, which is not installed: pip install pillow")
    written, drawn = dict[str, int](), Counter[str]()
    with disk_errors(folder), replace_folder(folder) as new:
        for number, split in enumerate(SPLITS):
            limit = counts[number] if counts else None
            rows: Iterator[tuple[Any, ...]]
            if config.task == "listops":
                rows = expressions(f"{seed}-{split}", Grammar())
            elif config.task in pathfinder.DRAWINGS:
                rows = pathfinder.images(config.task, f"{seed}-{split}", drawn)
            else:
                rows = read_copy(config.task, config.data, split)
            written[split] = _write(new / f"{split}.jsonl", islice(rows, limit), limit, report, check)
        (new / DATA).write_text(json.dumps({"settings": about, "rows": written, "drawn": drawn}, indent=1) + "\n")
    return written, drawn


@dataclass(frozen=True)
class Grammar:
    """Limits of expressions; the published ones by default.

    Attributes:
        shortest: Number of symbols that an expression exceeds.
        longest: Number of symbols that an expression stays below.
        arguments: Maximum arguments of an operation.
        depth: Greatest depth of an expression; the outermost one has depth 1.
    """

    shortest: int = 500
    longest: int = 2000
    arguments: int = 10
    depth: int = 10


def expressions(seed: str, grammar: Grammar) -> Iterator[tuple[list[str], int]]:
    """Generate different expressions with their values, without end; equal seeds give equal expressions."""
    draw = random.Random(seed)
    numbers = {symbol: number for number, symbol in enumerate([*"0123456789", *OPERATORS, CLOSE])}
    seen: set[int] = set()  # hashes of numbers, which unlike those of texts are the same in every process
    while True:
        symbols: list[str] = []
        try:
            value = _expression(draw, grammar, 1, symbols)
        except _TooLongError:
            continue
        digest = hash(tuple(numbers[symbol] for symbol in symbols))
        if len(symbols) > grammar.shortest and digest not in seen:
            seen.add(digest)
            yield symbols, value


def _expression(draw: random.Random, grammar: Grammar, depth: int, symbols: list[str]) -> int:
    """Append the symbols of a random expression, and return its value."""
    if depth >= grammar.depth or draw.random() > _OPERATION_SHARE:
        value = int(10 * draw.random())
        symbols.append(str(value))
        return value
    operator = draw.choice(tuple(OPERATORS))
    symbols.append(operator)
    count = draw.randint(2, grammar.arguments)
    values = []
    for _ in range(count):
        if len(symbols) >= grammar.longest:
            raise _TooLongError
        values.append(_expression(draw, grammar, depth + 1, symbols))
    symbols.append(CLOSE)
    if len(symbols) >= grammar.longest:
        raise _TooLongError
    return OPERATORS[operator](values)


class _TooLongError(Exception):
    """Raised where an expression has reached the maximum length."""


def read_copy(task: LraTask, folder: Path | None, split: str) -> Iterator[tuple[Any, ...]]:
    """Read the inputs of each row of a split, one document or two, and its label.

    Raises:
        DataError: If the folder lacks a file, or a file is damaged.
    """
    readers = {"text": (_text, _TEXT), "retrieval": (_retrieval, _RETRIEVAL), "image": (_image, _IMAGE)}
    reader, expected = readers[task]
    if folder is None or not folder.is_dir():
        got = folder or "nothing"
        raise DataError(f"study.data must be {expected}, got {got}; set it with --set study.data=FOLDER")
    try:
        yield from reader(folder, split)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"study.data must be {expected}, got {folder}: {error}") from error


def _text(folder: Path, split: str) -> Iterator[tuple[str, int]]:
    """Read reviews, negative and positive ones by turns."""
    part = folder / ("train" if split == "train" else "test")
    sides = [sorted((part / side).glob("*.txt")) for side in ("neg", "pos")]
    if not all(sides):
        raise DataError(
            f"study.data must be {_TEXT}, got {folder} without reviews in {part.name}/neg or {part.name}/pos"
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


def _write(path: Path, rows: Iterable[tuple[Any, ...]], total: int | None, report: Report, check: Check) -> int:
    """Write rows, and return their number."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for count, (text, *second, label) in enumerate(rows, 1):
            check()
            joined = text if isinstance(text, str) else " ".join(text)
            row = {"id": f"{path.stem}-{count}", "text": joined, **({"second": second[0]} if second else {})}
            file.write(json.dumps({**row, "label": label}, ensure_ascii=False) + "\n")
            if count % _REPORT_ROWS == 0:
                report(Progress(f"lra: {path.stem}", count, total))
    return count


def describe_expressions(path: Path) -> str:
    """Say how the first rows of a file of ListOps compare with the published grammar."""
    with path.open(encoding="utf-8") as file:
        rows: list[Any] = [parse_json(line) for line in islice(file, _DESCRIBED_ROWS)]
    texts: list[list[str]] = [row["text"].split() for row in rows]
    lengths = [len(symbols) for symbols in texts]
    depth, arguments = (max(values) for values in zip(*map(shape, texts), strict=True))
    operators = Counter(symbol for symbols in texts for symbol in symbols if symbol in OPERATORS)
    shares = ", ".join(f"{name[1:]} {100 * operators[name] / operators.total():.1f}" for name in OPERATORS)
    published = Grammar()
    return (
        f"{min(lengths):,} to {max(lengths):,} symbols (published above {published.shortest:,}, below "
        f"{published.longest:,}), depth up to {depth} ({published.depth}), up to {arguments} arguments "
        f"({published.arguments}), % of operators: {shares} ({100 / len(OPERATORS):g} each)"
    )


def shape(symbols: Sequence[str]) -> tuple[int, int]:
    """Return the depth of an expression, in which arguments of the outermost operation have 2, and most arguments."""
    counts, depth, most = [0], 1, 0
    for symbol in symbols:
        if symbol == CLOSE:
            most = max(most, counts.pop())
            continue
        counts[-1] += 1
        if symbol in OPERATORS:
            counts.append(0)
        depth = max(depth, len(counts))
    return depth, most
