import csv
from pathlib import Path

import pytest

from sumpool.data.config import Example, Reject
from sumpool.data.sources import WikihowSourceConfig
from sumpool.errors import DataError
from tests.data.sources.conftest import examples

ARTICLE = "First, cut the paper along the line.\n\n, Then fold it twice and wait.\n, It is done now.\n"
HEADER = ("headline", "title", "text")


def write(folder: Path, *rows: tuple[str, ...], header: tuple[str, ...] = HEADER) -> WikihowSourceConfig:
    """Write a table, with the titles of its rows in the lists in turn."""
    folder.mkdir(exist_ok=True)
    with (folder / "wikihowAll.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    for number, name in enumerate(("train", "val", "test")):
        titles = [row[1].replace(" ", "") for row in rows[number::3]]
        (folder / f"all_{name}.txt").write_text("".join(f"{title}\n" for title in titles))
    return WikihowSourceConfig(path=folder)


def test_rows_are_split_by_title_and_cleaned(tmp_path: Path) -> None:
    rows = [("\nFold it.,\nWait.,\n", f"How to Fold{number}", ARTICLE) for number in range(3)]
    config = write(tmp_path, *rows)
    found = examples(config)
    assert [example.split for example in found] == ["train", "validation", "test"]
    assert {example.summary for example in found} == {"Fold it.\nWait."}
    assert found[0].document == "First, cut the paper along the line.\n Then fold it twice and wait.\n It is done now."
    assert found[0].id == f"{tmp_path}/wikihowAll.csv:2"
    assert [path.name for path in config.files()] == ["all_train.txt", "all_val.txt", "all_test.txt", "wikihowAll.csv"]
    assert "75% of their article are left out" in "".join(config.notes())


def test_unlisted_titles_and_unsuitable_summaries_are_left_out(tmp_path: Path) -> None:
    long, short = ("a" * 75, "one", "b" * 100), ("a" * 74, "two", "b" * 100)
    config = write(tmp_path, long, short, ("", "three", ARTICLE), ("Short.", "four", ""), ("Short.", "five", ARTICLE))
    (tmp_path / "all_val.txt").write_text("two\n")
    with (tmp_path / "wikihowAll.csv").open("a") as file:
        file.write("Only a headline\r\n")
    kept, rejected = config.rows()
    assert isinstance(kept, Example)
    assert kept.summary == "a" * 74
    assert isinstance(rejected, Reject)
    assert rejected.reason == "must have 3 cells like the header, got 1"


def test_another_table_is_an_error(tmp_path: Path) -> None:
    config = write(tmp_path, ("a", "b", "c"), header=("overview", "title", "text"))
    with pytest.raises(
        DataError, match=r"wikihowAll\.csv must have columns headline, title, text, got none named 'hea"
    ):
        list(config.rows())


@pytest.mark.parametrize("name", ["wikihowAll.csv", "all_val.txt"])
def test_a_missing_file_is_named_with_its_origin(name: str, tmp_path: Path) -> None:
    config = write(tmp_path, ("Short.", "one", ARTICLE))
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=rf"must hold {name}, got no such file; .* https://github\.com/mahnaz"):
        list(config.rows())
