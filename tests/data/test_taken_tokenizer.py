"""Data that is prepared with the tokenizer of another folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from sumpool.data.config import DataConfig
from sumpool.data.prepare import is_prepared
from sumpool.data.report import DataReport
from sumpool.data.shards import Shard
from sumpool.errors import DataError, RecipeError
from sumpool.special_tokens import EOS
from sumpool.text.tokenizer import load_tokenizer
from tests.data.test_prepare import WORDS, LinesConfig, corpus, everything, run, write
from tests.text.bart import learn, take_over


def taking(path: Path, tokenizer: Path, vocabulary: int | None = None) -> DataConfig:
    return DataConfig.model_construct(source=LinesConfig(path=path), tokenizer=tokenizer, vocabulary=vocabulary)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    run(write(folder / "data", corpus()), folder / "prepared")
    return folder / "prepared"


def test_the_tokenizer_of_another_folder_is_taken_over(tmp_path: Path, prepared: Path) -> None:
    write(tmp_path / "data", corpus())
    settings = taking(tmp_path / "data", prepared)
    report, _ = run(settings, tmp_path / "prepared")
    taken, learnt = everything(tmp_path / "prepared"), everything(prepared)
    assert {name for name in taken if taken[name] != learnt[name]} == {"manifest.json", "report.json"}
    assert replace(DataReport.load(prepared), notes=report.notes) == report  # learning notes that it found few pieces
    assert is_prepared(taking(tmp_path / "data", prepared, report.vocabulary), tmp_path / "prepared")


def test_a_tokenizer_with_a_frame_frames_documents_and_summaries(tmp_path: Path) -> None:
    write(tmp_path / "data", corpus())
    tokenizer = take_over(learn([" ".join(WORDS)], tmp_path / "bart"), tmp_path / "taken")
    report, _ = run(taking(tmp_path / "data", tmp_path / "taken"), tmp_path / "prepared")
    assert report.vocabulary == tokenizer.vocabulary
    assert not (tmp_path / "prepared" / "tokenizer.model").exists()
    shard = Shard.open(tmp_path / "prepared", "test")
    for number in range(len(shard)):
        item, text = shard[number], shard.text(number)
        assert item.target is not None
        assert item.target.tolist() == [*tokenizer.frame.first, *tokenizer.encode(text.summary)]
        assert item.ids.tolist() == [5, *tokenizer.encode(" ".join(text.document.split())), EOS]
        assert item.sentences[-1] == item.sentences[-2]


def test_a_tokenizer_of_another_size_is_refused(tmp_path: Path, prepared: Path) -> None:
    write(tmp_path / "data", corpus())
    size = load_tokenizer(prepared).vocabulary
    with pytest.raises(RecipeError, match=rf"data\.vocabulary must be left out or {size}, the pieces of .*, got 420"):
        run(taking(tmp_path / "data", prepared, 420), tmp_path / "new")
    with pytest.raises(DataError, match=r"none/tokenizer\.model must be a SentencePiece model, got .*No such file"):
        run(taking(tmp_path / "data", tmp_path / "none"), tmp_path / "new")
    assert not (tmp_path / "new").exists()
