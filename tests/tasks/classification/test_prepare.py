"""Preparation of documents with labels."""

from pathlib import Path

import numpy as np
import pytest
import torch

from sumpool.data.batches import NO_PADDING
from sumpool.data.config import Example
from sumpool.data.prepared_folder import find_or_prepare, fingerprint
from sumpool.data.shards import Item, Shard, ShardWriter, Texts, TextsWriter
from sumpool.errors import DataError
from sumpool.progress import no_op
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, PAD
from sumpool.tasks.classification.labels import (
    LABELS,
    MAX_LABELS,
    LabelledDataConfig,
    LabelledReport,
    collect_labels,
    join_pair,
    load_labels,
    split_pair,
)
from sumpool.tasks.classification.model import Pairs, collate_labelled
from sumpool.text.tokenizer import load_tokenizer
from tests.conftest import write_lines


def config(folder: Path, **settings: object) -> LabelledDataConfig:
    """Write 30 rows, whose texts and labels follow from their numbers, and return the settings of their data."""
    rows = [
        {"id": f"d{number}", "text": f"{'good' if number % 3 else 'bad'} {number}", "label": number % 3 > 0}
        | {"other": f"second {number}"}
        for number in range(30)
    ]
    write_lines(folder / "rows.jsonl", rows)
    source = {"kind": "labelled", "path": folder / "rows.jsonl", "validation_share": 0.2, "test_share": 0.2}
    pair = {"second": settings.pop("second")} if "second" in settings else {}
    return LabelledDataConfig.model_validate({"source": source | pair, "units": "words", "workers": 1, **settings})


def prepared(data: LabelledDataConfig, folder: Path) -> LabelledReport:
    find_or_prepare(data, folder / "prepared", skip_bad_rows=False, report=no_op, check=no_op)
    return LabelledReport.load(folder / "prepared")


def test_targets_are_classes(tmp_path: Path) -> None:
    report = prepared(config(tmp_path), tmp_path)
    folder = tmp_path / "prepared"
    assert load_labels(folder) == ("false", "true")
    shard, tokenizer = Shard(folder, "train"), load_tokenizer(folder)
    for number in range(len(shard)):
        item, text = shard[number], shard.text(number)
        assert tokenizer.decode(item.ids.tolist()) == text.document
        assert item.target is not None
        assert item.target.tolist() == [text.summary == "true"]
    assert sum(report.labels["true"].values()) == 20
    assert report.labels["false"]["train"] + report.labels["true"]["train"] == report.splits["train"].documents
    labels = [row[0] for row in report.rows()]
    assert labels[-2:] == ["label false", "label true"]
    assert not any("summary" in label or "compression" in label for label in labels)


def test_pairs_have_both_documents(tmp_path: Path) -> None:
    prepared(config(tmp_path, second="other"), tmp_path)
    folder = tmp_path / "prepared"
    item, text = Shard(folder, "train")[0], Texts(folder, "train")[0]
    tokenizer = load_tokenizer(folder)
    assert text.second == f"second {text.id[1:]}"
    place = item.ids.tolist().index(PAD)
    assert tokenizer.decode(item.ids[:place].tolist()) == text.document
    assert tokenizer.decode(item.ids[place + 1 :].tolist()) == text.second


def test_units_are_words_bytes_or_by_default_subwords(tmp_path: Path) -> None:
    prepared(config(tmp_path, units=None, vocabulary=300), tmp_path)
    assert (tmp_path / "prepared" / "tokenizer.model").is_file()
    assert len({fingerprint(config(tmp_path, units=units)) for units in ("words", "bytes", None)}) == 3
    for name, value in (("tokenizer", "run"), ("phrases", 10_000)):
        with pytest.raises(ValueError, match=f"units and {name} must not both be set, got both"):
            config(tmp_path, **{name: value})


def test_a_label_that_training_lacks_is_named(tmp_path: Path) -> None:
    config(tmp_path)
    (tmp_path / "test.jsonl").write_text('{"id": "x", "text": "new", "label": "other"}\n')
    source = {"kind": "labelled", "train": tmp_path / "rows.jsonl", "test": tmp_path / "test.jsonl"}
    data = LabelledDataConfig.model_validate({"source": source, "units": "words", "workers": 1})
    with pytest.raises(DataError, match="document 'x' must have a label that a training document has too, got 'other'"):
        prepared(data, tmp_path)


def test_many_labels_are_counted_in_one_row(tmp_path: Path) -> None:
    rows = [{"id": number, "text": f"text {number}", "label": f"ä{number:02}"} for number in range(40)]
    write_lines(tmp_path / "rows.jsonl", rows)
    source = {"kind": "labelled", "train": tmp_path / "rows.jsonl", "validation_share": 0}
    report = prepared(LabelledDataConfig.model_validate({"source": source, "units": "words"}), tmp_path)
    assert report.rows()[-1] == ("and 10 more labels", "", "", "")
    assert report.rows()[-2][0] == "label ä29"
    assert load_labels(tmp_path / "prepared")[29] == "ä29"


def test_labels_have_a_fixed_order() -> None:
    for labels, names in [
        (["b", "a", "b"], ("a", "b")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
    ]:
        assert collect_labels(labels) == collect_labels(reversed(labels)) == names


def test_too_few_or_many_labels_and_damaged_files_are_refused(tmp_path: Path) -> None:
    for labels in [[], ["a"], [str(number) for number in range(MAX_LABELS + 1)]]:
        message = rf"from 2 to 10,000 different labels, got {len(labels):,}.*data\.source\.label"
        with pytest.raises(DataError, match=message):
            collect_labels(labels)
    for content in ['{"labels": 3}', '{"labels": []}', '{"labels": [1]}', "{}"]:
        (tmp_path / LABELS).write_text(content)
        with pytest.raises(DataError, match=r"labels\.json must be a list of labels, got .*; prepare the data again"):
            load_labels(tmp_path)


def item(name: str, ids: list[int], label: int | None, sentences: list[int] | None = None) -> Item:
    target = None if label is None else np.array([label], np.uint16)
    return Item(name, np.array(ids, np.uint16), np.array(sentences or [0] * len(ids), np.int32), target)


def pair(name: str, first: list[int], second: list[int], label: int | None) -> Item:
    return join_pair(item(name, first, label), item(name, second, label), PAD)


def test_a_pair_survives_joining_and_splitting() -> None:
    joined = join_pair(item("a", [7, 8, 9], 1, [0, 0, 1]), item("a", [5, 6], 1, [0, 1]), PAD)
    assert joined.ids.tolist() == [7, 8, 9, PAD, 5, 6]
    assert joined.sentences.tolist() == [0, 0, 1, 1, 2, 3]
    first, second = split_pair(joined, PAD)
    assert (first.ids.tolist(), first.sentences.tolist()) == ([7, 8, 9], [0, 0, 1])
    assert (second.ids.tolist(), second.sentences.tolist()) == ([5, 6], [0, 1])
    assert split_pair(first, PAD) == (first,)


def test_classes_are_targets_without_padding() -> None:
    batch = collate_labelled([item("a", [7, 8, 9], 0), item("b", [5], 2)], 2, 9, None, DEFAULT_SPECIAL_TOKENS)
    assert batch.ids.tolist() == [[7, 8], [5, PAD]]
    assert batch.mask.tolist() == [[True, True], [True, False]]
    assert batch.target is not None
    assert batch.target.tolist() == [[0], [2]]
    assert (batch.documents, batch.pad) == (("a", "b"), NO_PADDING)
    assert collate_labelled([item("a", [7], None)], 8, 9, None, DEFAULT_SPECIAL_TOKENS).target is None


def test_documents_of_a_pair_stand_side_by_side_and_take_twice_the_longer_one(tmp_path: Path) -> None:
    items = [pair("a", [7, 8, 9], [5], 0), pair("b", [6], [10, 11], 1), pair("c", [6], [7], 1)]
    batch = collate_labelled(items[:2], 8, 9, None, DEFAULT_SPECIAL_TOKENS)
    assert batch.ids.tolist() == [[[7, 8, 9], [5, PAD, PAD]], [[6, PAD, PAD], [10, 11, PAD]]]
    assert torch.equal(batch.mask, batch.ids != PAD)
    assert batch.sentences.shape == (2, 2, 3)
    assert batch.documents == ("a", "b")
    with ShardWriter(tmp_path, "train", 300) as shard, TextsWriter(tmp_path, "train") as texts:
        for row in items:
            shard.add(row)
            texts.add(Example(row.id, "text", "label", "train"))
    pairs = Pairs(Shard(tmp_path, "train"), PAD)
    assert (len(pairs), pairs.lengths.tolist()) == (3, [6, 4, 2])
    assert pairs[1].ids.tolist() == [6, PAD, 10, 11]
