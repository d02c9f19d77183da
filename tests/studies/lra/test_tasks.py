import json
import re
from itertools import islice, product
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sumpool.data.config import SPLITS
from sumpool.errors import DataError, RecipeError
from sumpool.progress import Progress, no_op
from sumpool.studies.config import LraConfig, LraTask
from sumpool.studies.lra.pathfinder import describe
from sumpool.studies.lra.tasks import (
    CLOSE,
    DATA,
    OPERATORS,
    Grammar,
    describe_expressions,
    expressions,
    make_data,
    read_copy,
    shape,
)
from sumpool.tasks.classification.labels import LabelledSourceConfig


def write_aan(folder: Path) -> Path:
    folder.mkdir()
    for split in ("train", "eval", "test"):
        rows = ["1.0\tP1\tP2\tfirst text\tsecond text", f"0\tP3\tP4\t{split}\tother"]
        (folder / f"new_aan_pairs.{split}.tsv").write_text("".join(f"{row}\n" for row in rows))
    return folder


def write_cifar(folder: Path) -> Path:
    folder.mkdir()
    random = np.random.default_rng(1)
    for name in [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]:
        rows = random.integers(0, 256, (1002, 3073), np.uint8)
        rows[:, 0] = np.arange(1002) % 10
        rows.tofile(folder / name)
    return folder


def test_reviews_are_read_by_turns_and_validation_is_test(tmp_path: Path) -> None:
    folder = tmp_path / "aclImdb"
    for part, (label, side) in product(("train", "test"), enumerate(("neg", "pos"))):
        (folder / part / side).mkdir(parents=True)
        for number in range(2 + label):
            (folder / part / side / f"{number}_{9 * label}.txt").write_text(f"{part} {side} {number}")
    assert list(read_copy("text", folder, "train"))[:3] == [("train neg 0", 0), ("train pos 0", 1), ("train neg 1", 0)]
    assert list(read_copy("text", folder, "validation")) == list(read_copy("text", folder, "test"))
    assert len(list(read_copy("text", folder, "test"))) == 5


def test_pairs_of_papers_are_read(tmp_path: Path) -> None:
    folder = write_aan(tmp_path / "tsv_data")
    assert list(read_copy("retrieval", folder, "train")) == [("first text", "second text", 1), ("train", "other", 0)]
    assert list(read_copy("retrieval", folder, "validation"))[1] == ("eval", "other", 0)


def test_images_are_grey_and_divided(tmp_path: Path) -> None:
    folder = write_cifar(tmp_path / "cifar-10-batches-bin")
    rows = {split: list(read_copy("image", folder, split)) for split in ("train", "validation", "test")}
    assert {split: len(part) for split, part in rows.items()} == {"train": 10, "validation": 5000, "test": 1002}
    content = np.fromfile(folder / "data_batch_1.bin", np.uint8)
    red, green, blue = (int(content[1 + 1024 * channel]) for channel in range(3))
    text, label = rows["train"][0]
    assert int(text.split()[0]) == round(0.2989 * red + 0.587 * green + 0.114 * blue)
    assert (len(text.split()), label) == (1024, 0)


def test_missing_and_damaged_copies_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    copies: dict[LraTask, str] = {
        "text": r"the folder aclImdb \(tar xzf aclImdb_v1\.tar\.gz, from .*got nothing; set it with",
        "retrieval": r"a folder with new_aan_pairs\.train\.tsv.*tar xzf lra_release\.gz.*got nothing",
        "image": r"the folder cifar-10-batches-bin \(tar xzf cifar-10-binary\.tar\.gz.*got nothing",
    }
    for task, expected in copies.items():
        with pytest.raises(DataError, match=r"study\.data must be " + expected):
            list(read_copy(task, None, "train"))
        with pytest.raises(DataError, match=r"study\.data must be .*got .*empty"):
            list(read_copy(task, tmp_path / "empty", "train"))
    pairs = write_aan(tmp_path / "tsv")
    (pairs / "new_aan_pairs.train.tsv").write_text("1\tone\n")
    with pytest.raises(DataError, match=r"train\.tsv:1 must have a label, two ids and two texts, got 2 cells"):
        list(read_copy("retrieval", pairs, "train"))
    images = write_cifar(tmp_path / "cifar")
    (images / "data_batch_2.bin").write_bytes(b"abc")
    with pytest.raises(DataError, match=r"data_batch_2\.bin must have 3,073 bytes per image, got 3 bytes"):
        list(read_copy("image", images, "train"))


def test_rows_of_a_copy_become_labelled_files(tmp_path: Path) -> None:
    config = LraConfig(task="retrieval", data=write_aan(tmp_path / "tsv"))
    data, _ = make_data(config, 1, tmp_path / "data", no_op, no_op)
    row = json.loads((tmp_path / "data" / "train.jsonl").read_text().splitlines()[0])
    assert row == {"id": "train-1", "text": "first text", "second": "second text", "label": 1}
    assert data["test"] == 2


def test_generated_images_become_labelled_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = LraConfig(task="pathfinder32", rows=(2, 1, 1))
    data, drawn = make_data(config, 1, tmp_path / "data", no_op, no_op)
    row = json.loads((tmp_path / "data" / "test.jsonl").read_text())
    assert len(row["text"].split()) == 1024
    assert row["label"] in (0, 1)
    assert data == {"train": 2, "validation": 1, "test": 1}
    lines = [line for path in (tmp_path / "data").glob("*.jsonl") for line in path.read_text().splitlines()]
    pixels = [int(pixel) for line in lines for pixel in json.loads(line)["text"].split()]
    assert drawn["bright"] == sum(pixel > 10 for pixel in pixels)
    assert (drawn["images"], drawn["pixels"]) == (4, len(pixels))
    assert make_data(config, 1, tmp_path / "data", no_op, no_op) == (data, drawn)
    assert "% of the pixels are above 10 (published 15.7), two paths fit in" in describe("pathfinder32", drawn)

    monkeypatch.setattr("sumpool.studies.lra.tasks.find_spec", lambda _: None)
    with pytest.raises(RecipeError, match=r"study\.task=pathfinder32 must have Pillow, which is not installed"):
        make_data(config, 1, tmp_path / "other", no_op, no_op)


CONFIG = LraConfig(rows=(6, 3, 2))


def test_rows_are_labelled_and_different_in_each_split(tmp_path: Path) -> None:
    data, drawn = make_data(CONFIG, 1, tmp_path / "data", no_op, no_op)
    assert not drawn
    texts = []
    for split, count in zip(SPLITS, (6, 3, 2), strict=True):
        rows = [json.loads(line) for line in (tmp_path / "data" / f"{split}.jsonl").read_text().splitlines()]
        assert len(rows) == data[split] == count
        assert all(row["label"] == tree_value(row["text"].split()) for row in rows)
        texts += [row["text"] for row in rows]
    assert len(set(texts)) == 11
    assert len(list(LabelledSourceConfig(train=(tmp_path / "data" / "train.jsonl")).rows())) == 6


def test_equal_settings_keep_the_rows_and_others_replace_them_but_no_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first = make_data(CONFIG, 1, folder, no_op, no_op)
    content = (folder / "train.jsonl").read_bytes()
    reports: list[Progress] = []
    assert make_data(CONFIG, 1, folder, reports.append, no_op) == first
    make_data(CONFIG, 2, folder, no_op, no_op)
    assert (folder / "train.jsonl").read_bytes() != content
    make_data(CONFIG, 1, folder, no_op, no_op)
    assert (folder / "train.jsonl").read_bytes() == content
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("years of work")
    with pytest.raises(RecipeError, match=r"other must be new or hold the data of study lra, got other files"):
        make_data(CONFIG, 1, tmp_path / "other", no_op, no_op)
    assert (tmp_path / "other" / "thesis.txt").exists()
    with pytest.raises(KeyboardInterrupt):
        make_data(CONFIG, 1, tmp_path / "stopped", no_op, Mock(side_effect=KeyboardInterrupt))
    assert not (tmp_path / "stopped" / DATA).exists()


SMALL = Grammar(shortest=5, longest=60, arguments=4, depth=3)


def tree_value(symbols: list[str]) -> int:
    """Value of an expression by rewriting innermost operations, the naive twin."""
    while len(symbols) > 1:
        end = symbols.index(CLOSE)
        start = max(index for index in range(end) if symbols[index] in OPERATORS)
        values = sorted(map(int, symbols[start + 1 : end]))
        middle = len(values) // 2
        result = {
            "[MIN": values[0],
            "[MAX": values[-1],
            "[MED": values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) // 2,
            "[SM": sum(values) % 10,
        }[symbols[start]]
        symbols = [*symbols[:start], str(result), *symbols[end + 1 :]]
    return int(symbols[0])


def test_values_equal_those_of_the_naive_twin_and_expressions_those_of_their_seed() -> None:
    for symbols, value in islice(expressions("1", SMALL), 300):
        assert value == tree_value(symbols)
    first, again = (list(islice(expressions("1", SMALL), 400)) for _ in range(2))
    assert first == again != list(islice(expressions("2", SMALL), 400))
    assert len({json.dumps(symbols) for symbols, _ in first}) == 400


@pytest.mark.parametrize(("grammar", "count"), [(Grammar(), 60), (SMALL, 500)])
def test_limits_are_reached_and_hold(grammar: Grammar, count: int) -> None:
    rows = [symbols for symbols, _ in islice(expressions("1", grammar), count)]
    assert grammar.shortest < min(map(len, rows))
    assert max(map(len, rows)) < grammar.longest
    shapes = [shape(symbols) for symbols in rows]
    assert tuple(map(max, zip(*shapes, strict=True))) == (grammar.depth, grammar.arguments)
    symbols = [symbol for row in rows for symbol in row]
    total = sum(map(symbols.count, OPERATORS))
    assert all(0.2 < symbols.count(operator) / total < 0.3 for operator in OPERATORS)


def test_expressions_are_described_beside_the_published_grammar(tmp_path: Path) -> None:
    make_data(LraConfig(rows=(60, 1, 1)), 1, tmp_path / "data", no_op, no_op)
    described = describe_expressions(tmp_path / "data" / "train.jsonl")
    assert re.match(r"5\d\d to 1,\d{3} symbols \(published above 500, below 2,000\), ", described)
    assert "depth up to 10 (10), up to 10 arguments (10), % of operators: MIN 2" in described
