from pathlib import Path

import pytest

from sumpool.errors import DataError
from sumpool.tasks.classification.labels import LABELS, MAX_LABELS, Labels


def test_labels_have_a_fixed_order() -> None:
    for labels, names in [
        (["b", "a", "b"], ("a", "b")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
    ]:
        assert Labels.collect(labels).names == Labels.collect(reversed(labels)).names == names


def test_labels_survive_saving(tmp_path: Path) -> None:
    labels = Labels.collect(["gut", "schön"])
    labels.save(tmp_path)
    assert Labels.load(tmp_path) == labels
    assert (len(labels), labels.index("schön", "a")) == (2, 1)


def test_a_label_that_training_lacks_is_named() -> None:
    with pytest.raises(DataError, match=r"document 'd1' must have a label that a training document has too, got 'c'"):
        Labels(("a", "b")).index("c", "d1")


def test_too_few_or_many_labels_are_refused() -> None:
    for labels in [[], ["a"], [str(number) for number in range(MAX_LABELS + 1)]]:
        with pytest.raises(
            DataError, match=rf"from 2 to 10,000 different labels, got {len(labels):,}.*data\.source\.label"
        ):
            Labels.collect(labels)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    for content in ['{"labels": 3}', '{"labels": []}', '{"labels": [1]}', "{}"]:
        (tmp_path / LABELS).write_text(content)
        with pytest.raises(DataError, match=r"labels\.json must be a list of labels, got .*; prepare the data again"):
            Labels.load(tmp_path)
