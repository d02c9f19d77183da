from pathlib import Path
from unittest.mock import Mock

import pytest

from sumpool.errors import DataError, RecipeError
from sumpool.progress import Progress
from sumpool.studies import segments
from sumpool.studies.segments import study_segments
from sumpool.workflows.train import train
from tests.tasks.language_modeling.test_loading import folder, recipe

__all__ = ["folder"]


def test_a_document_is_divided_as_the_model_does_and_drawn(folder: Path, tmp_path: Path) -> None:
    run = train(recipe(folder, {"kind": "whitespace"}), folder / "segmented")
    document, picture = tmp_path / "doc.txt", tmp_path / "segments.png"
    document.write_text("the öld fox the f\u043ex sleeps")  # a Cyrillic o
    notes: list[Progress] = []
    found = study_segments(run, str(document), picture, notes.append)
    assert found[:3] == ("the ", "öld ", "fox ")
    assert [progress.note for progress in notes] == ["1 characters of the document are not in the vocabulary"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    document.write_text(" ")
    with pytest.raises(DataError, match=r"doc\.txt must have text, got none"):
        study_segments(run, str(document), None)


@pytest.mark.parametrize("name", ["segments.jpg", "nowhere/segments.png"])
def test_a_picture_that_cannot_be_written_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match=r"--plot must name a \.png file in a folder that is there, got .*segments"):
        study_segments(None, "document.txt", Path(name))


def test_matplotlib_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "find_spec", Mock(return_value=None))
    with pytest.raises(RecipeError, match=r"matplotlib, which is not installed: pip install 'sumpool\[plots\]'"):
        study_segments(None, "document.txt", tmp_path / "x.png")


def test_characters_without_a_font_are_code_points() -> None:
    labels, families = segments._labels(["a", " ", "\u043e", "\U000e0041", ""])
    assert labels == ["a", "␣", "\u043e", "E0\n04\n1", "?"]
    assert families == ["DejaVu Sans"]
