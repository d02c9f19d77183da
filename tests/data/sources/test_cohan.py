import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from sumpool.data.config import Example, Reject
from sumpool.data.sources import ArxivSourceConfig
from sumpool.errors import DataError
from tests.data.sources.conftest import examples, write_lines


def article(name: object = "a1", **fields: object) -> dict[str, object]:
    return {
        "article_id": name,
        "abstract_text": ["<S> we study @xmath0 . </S>", "<S> it  works . </S>"],
        "section_names": ["introduction", "results"],
        "sections": [["a first .", "a second ."], ["a third ."]],
        "article_text": ["all of it ."],
        **fields,
    }


def write(folder: Path, *train: object) -> Path:
    for name, rows in (("train", train), ("val", [article("v")]), ("test", [article("t")])):
        write_lines(folder / f"{name}.txt", *rows)
    return folder


def cohan_rows(folder: Path) -> Iterator[Example | Reject]:
    return ArxivSourceConfig(path=folder).rows()


def test_sections_or_else_texts_are_paragraphs_without_sentence_marks(tmp_path: Path) -> None:
    write(tmp_path, article(), article(sections=[], article_text=["one .", "two ."]))
    first, second, validation, test = examples(ArxivSourceConfig(path=tmp_path))
    assert first == Example("a1", "a first . a second .\n\na third .", "we study @xmath0 . it works .", "train")
    assert second.document == "one .\n\ntwo ."
    assert (validation.split, test.split) == ("validation", "test")


def test_invalid_article_is_rejected_with_its_line(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"name": 5}, "'article_id' must be text, got int"),
        ({"abstract_text": "text"}, "'abstract_text' must be a list of texts, got str"),
        ({"abstract_text": ["<S> </S>"]}, "'abstract_text' must contain text, got an empty one"),
        ({"sections": [["a"], "b"]}, "'sections' must be a list of texts, got str"),
        ({"sections": [[" "]]}, "'sections' must contain text, got an empty one"),
        ({"sections": None, "article_text": None}, "'article_text' must be a list of texts, got NoneType"),
    ]
    for fields, reason in cases:
        rows = list(cohan_rows(write(tmp_path, article(), article(**fields))))
        assert rows[1] == Reject(f"{tmp_path / 'train.txt'}:2", reason)
        assert len(rows) == 4


def test_compressed_files_are_read(tmp_path: Path) -> None:
    write(tmp_path, article())
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress((tmp_path / "train.txt").read_bytes()))
    (tmp_path / "train.txt").unlink()
    assert [path.name for path in ArxivSourceConfig(path=tmp_path).files()] == ["train.txt.gz", "val.txt", "test.txt"]
    assert len(list(cohan_rows(tmp_path))) == 3


def test_missing_split_is_an_error(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "val.txt").unlink()
    with pytest.raises(DataError, match=r"must hold val\.txt .*; set data\.source\.path to the unpacked folder"):
        list(cohan_rows(tmp_path))
