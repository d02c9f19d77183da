"""Preparation of documents with labels."""

import json
from pathlib import Path

import pytest

from sumpool.data.prepared_folder import find_or_prepare, fingerprint
from sumpool.data.shards import Shard, Texts
from sumpool.errors import DataError
from sumpool.progress import no_op
from sumpool.special_tokens import PAD
from sumpool.tasks.classification.labels import LabelledDataConfig, LabelledReport, Labels
from sumpool.text.tokenizer import load_tokenizer


def config(folder: Path, **settings: object) -> LabelledDataConfig:
    """Write 30 rows, whose texts and labels follow from their numbers, and return the settings of their data."""
    rows = [
        {"id": f"d{number}", "text": f"{'good' if number % 3 else 'bad'} {number}", "label": number % 3 > 0}
        | {"other": f"second {number}"}
        for number in range(30)
    ]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source = {"kind": "labelled", "path": folder / "rows.jsonl", "validation_share": 0.2, "test_share": 0.2}
    pair = {"second": settings.pop("second")} if "second" in settings else {}
    return LabelledDataConfig.model_validate({"source": source | pair, "units": "words", "workers": 1, **settings})


def prepared(data: LabelledDataConfig, folder: Path) -> LabelledReport:
    _, report = find_or_prepare(data, folder / "prepared", skip_bad_rows=False, report=no_op, check=no_op)
    assert isinstance(report, LabelledReport)
    return report


def test_targets_are_classes(tmp_path: Path) -> None:
    report = prepared(config(tmp_path), tmp_path)
    folder = tmp_path / "prepared"
    assert Labels.load(folder).names == ("false", "true")
    shard, tokenizer = Shard(folder, "train"), load_tokenizer(folder)
    for number in range(len(shard)):
        item, text = shard[number], shard.text(number)
        assert tokenizer.decode(item.ids.tolist()) == text.document
        assert item.target is not None
        assert item.target.tolist() == [text.summary == "true"]
    assert report == LabelledReport.load(folder)
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


def test_subwords_are_the_default(tmp_path: Path) -> None:
    prepared(config(tmp_path, units=None, vocabulary=300), tmp_path)
    assert (tmp_path / "prepared" / "tokenizer.model").is_file()


def test_units_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    kinds = {fingerprint(config(tmp_path, units=units)) for units in ("words", "bytes", None)}
    assert len(kinds) == 3


def test_a_label_that_training_lacks_is_named(tmp_path: Path) -> None:
    data = config(tmp_path)
    (tmp_path / "test.jsonl").write_text('{"id": "x", "text": "new", "label": "other"}\n')
    source = {"kind": "labelled", "train": tmp_path / "rows.jsonl", "test": tmp_path / "test.jsonl"}
    data = LabelledDataConfig.model_validate({"source": source, "units": "words", "workers": 1})
    with pytest.raises(DataError, match="document 'x' must have a label that a training document has too, got 'other'"):
        prepared(data, tmp_path)


def test_units_exclude_other_vocabularies(tmp_path: Path) -> None:
    for name, value in (("tokenizer", "run"), ("phrases", 10_000)):
        with pytest.raises(ValueError, match=f"units and {name} must not both be set, got both"):
            config(tmp_path, **{name: value})


def test_many_labels_are_counted_in_one_row(tmp_path: Path) -> None:
    rows = [{"id": number, "text": f"text {number}", "label": number} for number in range(40)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source = {"kind": "labelled", "train": tmp_path / "rows.jsonl"}
    report = prepared(LabelledDataConfig.model_validate({"source": source, "units": "words"}), tmp_path)
    assert report.rows()[-1] == ("and 10 more labels", "", "", "")
    assert report.rows()[-2][0] == "label 29"
