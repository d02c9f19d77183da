"""Recipes of published datasets: ten rows in the published format are prepared, and an update is measured."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sumpool.data.config import Split
from sumpool.data.shards import Texts
from sumpool.errors import DataError
from sumpool.recipe.load import load_recipe
from sumpool.recipe.schema import Recipe
from sumpool.workflows.train import dry_run
from tests.conftest import prepare
from tests.test_recipes import RECIPES

NAMES = sorted(path.stem for path in (RECIPES / "datasets").glob("*.yaml"))
DOCUMENTS = [
    f"Report {n} is on subject {n}. It has five parts, of which part {n} is long. It ends here." for n in range(10)
]
SUMMARIES = [f"Subject {n} in\nfive parts." for n in range(10)]
PARTS: dict[Split, slice] = {"train": slice(0, 6), "validation": slice(6, 8), "test": slice(8, 10)}
SMALL = (
    *("data.vocabulary=320", "data.workers=1", "data.prepared=prepared/small", "model.dim=16", "model.heads=2"),
    *("model.feed_forward=16", "train.batch_tokens=128", "train.device=cpu", "train.precision=fp32"),
)


def write_parquet(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)


def in_parquet(pattern: str, **columns: Sequence[object]) -> Callable[[], None]:
    """Return a function that writes the columns to a file per split."""

    def write() -> None:
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        for split, part in PARTS.items():
            write_parquet(Path(pattern.format(split)), rows[part])

    return write


def write_billsum() -> None:
    rows = [{"text": d, "summary": s, "title": "A bill"} for d, s in zip(DOCUMENTS, SUMMARIES, strict=True)]
    write_parquet(Path("billsum/data/train-00000-of-00001.parquet"), rows[:8])
    write_parquet(Path("billsum/data/test-00000-of-00001.parquet"), rows[8:])
    write_parquet(Path("billsum/data/ca_test-00000-of-00001.parquet"), rows[8:])


def write_booksum() -> None:
    Path("booksum").mkdir()
    header = ("", "bid", "is_aggregate", "book_id", "content", "summary", "chapter", "summary_text", "summary_analysis")
    summary = json.dumps({"name": "Chapter 1", "text": ["Subject."]})
    rows = [
        (n, 27681, False, "Book.chapter 1", "", summary, DOCUMENTS[n], SUMMARIES[n], "An analysis.") for n in range(10)
    ]
    for split, part in PARTS.items():
        with Path(f"booksum/{'dev' if split == 'validation' else split}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows[part]])


def write_wikihow() -> None:
    Path("wikihow").mkdir()
    rows = [(f"\n{SUMMARIES[n]},\n", f"How to Write Report{n}", f"{DOCUMENTS[n]}\n\n,") for n in range(10)]
    with Path("wikihow/wikihowAll.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("headline", "title", "text"), *rows])
    for split, part in PARTS.items():
        titles = "".join(f"{row[1].replace(' ', '')}\n" for row in rows[part])
        Path(f"wikihow/all_{'val' if split == 'validation' else split}.txt").write_text(titles)


IDS = [f"{n:08}" for n in range(10)]
WRITERS: dict[str, Callable[[], None]] = {
    "billsum": write_billsum,
    "booksum": write_booksum,
    "cnn_dailymail": in_parquet(
        "cnn_dailymail/3.0.0/{}-00000-of-00001.parquet", article=DOCUMENTS, highlights=SUMMARIES, id=IDS
    ),
    "govreport": in_parquet("govreport/document/{}-00000-of-00001.parquet", report=DOCUMENTS, summary=SUMMARIES),
    "wikihow": write_wikihow,
    "xsum": in_parquet("xsum/default/{}/0000.parquet", document=DOCUMENTS, summary=SUMMARIES, id=IDS),
}


def small_recipe(name: str) -> Recipe:
    return load_recipe(RECIPES / "datasets" / f"{name}.yaml", SMALL)


def test_every_dataset_is_tested_and_documented() -> None:
    assert list(WRITERS) == NAMES
    page = (RECIPES.parent / "docs/data.md").read_text()
    for name in NAMES:
        text = (RECIPES / "datasets" / f"{name}.yaml").read_text()
        assert "# Get the data" in text
        assert "# Licence: " in text
        assert f"| `datasets/{name}` |" in page


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "wikihow")) for name in NAMES])
def test_ten_rows_are_prepared_and_an_update_is_measured(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    WRITERS[name]()
    recipe = small_recipe(name)
    folder, _ = prepare(recipe)
    texts = {split: list(Texts(folder, split)) for split in PARTS}
    counts = {"train": 7, "validation": 1, "test": 2} if name == "billsum" else {"train": 6, "validation": 2, "test": 2}
    assert {split: len(examples) for split, examples in texts.items()} == counts
    assert (texts["train"][0].document, texts["train"][0].summary) == (DOCUMENTS[0], SUMMARIES[0])
    assert dry_run(recipe).parameters > 1000


def test_a_missing_dataset_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        with pytest.raises(DataError, match=rf"^{name}\S* must .*(check|linked)"):
            prepare(small_recipe(name))
