import json
from pathlib import Path

import numpy as np
import pytest

from sumpool.bench.lra.readers import read
from sumpool.bench.lra.tasks import make_data
from sumpool.bench.lra_config import LraConfig, LraTask
from sumpool.errors import DataError
from sumpool.progress import go_on, silent


def write_imdb(folder: Path) -> Path:
    for part in ("train", "test"):
        for label, side in enumerate(("neg", "pos")):
            (folder / part / side).mkdir(parents=True)
            for number in range(2 + label):
                (folder / part / side / f"{number}_{9 * label}.txt").write_text(f"{part} {side} {number}")
    return folder


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
    folder = write_imdb(tmp_path / "aclImdb")
    assert list(read("text", folder, "train"))[:3] == [("train neg 0", 0), ("train pos 0", 1), ("train neg 1", 0)]
    assert list(read("text", folder, "validation")) == list(read("text", folder, "test"))
    assert len(list(read("text", folder, "test"))) == 5


def test_pairs_of_papers_are_read(tmp_path: Path) -> None:
    folder = write_aan(tmp_path / "tsv_data")
    assert list(read("retrieval", folder, "train")) == [("first text", "second text", 1), ("train", "other", 0)]
    assert list(read("retrieval", folder, "validation"))[1] == ("eval", "other", 0)


def test_images_are_grey_and_divided(tmp_path: Path) -> None:
    folder = write_cifar(tmp_path / "cifar-10-batches-bin")
    rows = {split: list(read("image", folder, split)) for split in ("train", "validation", "test")}
    assert {split: len(part) for split, part in rows.items()} == {"train": 10, "validation": 5000, "test": 1002}
    content = np.fromfile(folder / "data_batch_1.bin", np.uint8)
    red, green, blue = (int(content[1 + 1024 * channel]) for channel in range(3))
    text, label = rows["train"][0]
    assert int(text.split()[0]) == round(0.2989 * red + 0.587 * green + 0.114 * blue)
    assert (len(text.split()), label) == (1024, 0)


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (
            "text",
            r"the folder aclImdb \(tar xzf aclImdb_v1\.tar\.gz, from .*got nothing; set it with",
        ),
        (
            "retrieval",
            r"a folder with new_aan_pairs\.train\.tsv.*tar xzf lra_release\.gz.*got nothing",
        ),
        (
            "image",
            r"the folder cifar-10-batches-bin \(tar xzf cifar-10-binary\.tar\.gz.*got nothing",
        ),
    ],
)
def test_a_missing_copy_is_named_with_its_command(task: LraTask, expected: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"bench\.data must be " + expected):
        list(read(task, None, "train"))
    with pytest.raises(DataError, match=r"bench\.data must be .*got .*empty"):
        list(read(task, tmp_path / "empty", "train"))


def test_damaged_copies_are_named(tmp_path: Path) -> None:
    pairs = write_aan(tmp_path / "tsv")
    (pairs / "new_aan_pairs.train.tsv").write_text("1\tone\n")
    with pytest.raises(DataError, match=r"train\.tsv:1 must have a label, two ids and two texts, got 2 cells"):
        list(read("retrieval", pairs, "train"))
    images = write_cifar(tmp_path / "cifar")
    (images / "data_batch_2.bin").write_bytes(b"abc")
    with pytest.raises(DataError, match=r"data_batch_2\.bin must have 3,073 bytes per image, got 3 bytes"):
        list(read("image", images, "train"))


def test_rows_of_a_copy_become_labelled_files(tmp_path: Path) -> None:
    config = LraConfig(task="retrieval", data=write_aan(tmp_path / "tsv"))
    data = make_data(config, 1, tmp_path / "data", silent, go_on)
    row = json.loads(data.files["train"].read_text().splitlines()[0])
    assert row == {"id": "train-1", "text": "first text", "second": "second text", "label": 1}
    assert data.statistics["test"]["rows"] == 2


def test_generated_images_become_labelled_files(tmp_path: Path) -> None:
    data = make_data(LraConfig(task="pathfinder32", rows=(2, 1, 1)), 1, tmp_path / "data", silent, go_on)
    row = json.loads(data.files["test"].read_text())
    assert len(row["text"].split()) == 1024
    assert data.statistics["train"]["published"]["pixels"] == 1024
