from pathlib import Path
from unittest.mock import Mock

import pytest

from sumpool.errors import DataError, RecipeError
from sumpool.progress import Progress
from sumpool.studies import segments
from sumpool.studies.segments import study_segments
from tests.tasks.language_modeling.test_evaluate import folder, loaded

__all__ = ["folder"]


def test_a_document_is_divided_as_the_model_does_and_drawn(folder: Path, tmp_path: Path) -> None:
    run = loaded(folder, {"kind": "whitespace"}).folder
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
    labels, families = segments._labels(["a", " ", "\u043e", "\U000e0041", ""])
    assert labels == ["a", "␣", "\u043e", "E0\n04\n1", "?"]
    assert families == ["DejaVu Sans"]


def test_a_picture_that_cannot_be_drawn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("segments.jpg", "nowhere/segments.png"):
        with pytest.raises(
            RecipeError, match=r"--plot must name a \.png file in a folder that is there, got .*segment"
        ):
            study_segments(None, "document.txt", Path(name))
    monkeypatch.setattr(segments, "find_spec", Mock(return_value=None))
    with pytest.raises(RecipeError, match=r"matplotlib, which is not installed: pip install 'sumpool\[plots\]'"):
        study_segments(None, "document.txt", tmp_path / "x.png")
