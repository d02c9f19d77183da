import json
from pathlib import Path

import pytest

from sumpool.bench.lra.listops import evaluate
from sumpool.bench.lra.tasks import DATA, make_data
from sumpool.bench.lra_config import LraConfig
from sumpool.data.sources._base import SPLITS
from sumpool.data.sources.labelled import LabelledSourceConfig
from sumpool.errors import RecipeError
from sumpool.progress import Progress, go_on, silent

CONFIG = LraConfig(rows=(6, 3, 2))


def test_rows_are_labelled_and_different_in_each_split(tmp_path: Path) -> None:
    data = make_data(CONFIG, 1, tmp_path / "data", silent, go_on)
    texts = []
    for split, count in zip(SPLITS, (6, 3, 2), strict=True):
        rows = [json.loads(line) for line in data.files[split].read_text().splitlines()]
        assert len(rows) == data.statistics[split]["rows"] == count
        assert all(row["label"] == evaluate(row["text"].split()) for row in rows)
        texts += [row["text"] for row in rows]
    assert len(set(texts)) == 11
    assert len(list(LabelledSourceConfig(train=data.files["train"]).rows())) == 6


def test_equal_settings_keep_the_rows_and_others_replace_them(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first = make_data(CONFIG, 1, folder, silent, go_on)
    content = (folder / "train.jsonl").read_bytes()
    reports: list[Progress] = []
    assert make_data(CONFIG, 1, folder, reports.append, go_on) == first
    other = make_data(CONFIG, 2, folder, silent, go_on)
    assert (folder / "train.jsonl").read_bytes() != content
    assert other.statistics != first.statistics
    make_data(CONFIG, 1, folder, silent, go_on)
    assert (folder / "train.jsonl").read_bytes() == content


def test_expressions_of_other_lengths_are_another_task(tmp_path: Path) -> None:
    make_data(CONFIG, 1, tmp_path / "data", silent, go_on)
    data = make_data(LraConfig(rows=(6, 3, 2), lengths=(10, 40)), 1, tmp_path / "data", silent, go_on)
    lengths = [len(json.loads(line)["text"].split()) for line in data.files["train"].read_text().splitlines()]
    assert all(10 < length < 40 for length in lengths)
    with pytest.raises(ValueError, match=r"bench\.lengths must end at twice its start or later, got \[30, 40\]"):
        LraConfig(lengths=(30, 40))
    with pytest.raises(ValueError, match=r"bench\.lengths must be left out of bench\.task=image"):
        LraConfig(task="image", lengths=(30, 90))


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.txt").write_text("years of work")
    with pytest.raises(RecipeError, match=r"data must be new or hold the data of bench lra, got other files"):
        make_data(CONFIG, 1, tmp_path / "data", silent, go_on)
    assert (tmp_path / "data" / "thesis.txt").exists()


def test_an_interrupted_call_leaves_nothing(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_data(CONFIG, 1, tmp_path / "data", silent, stop)
    assert not (tmp_path / "data" / DATA).exists()
