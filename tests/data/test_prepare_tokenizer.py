"""Preparation with the tokenizer of another folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from sumpool.data.config import DataConfig
from sumpool.data.report import DataReport
from sumpool.data.shards import Shard
from sumpool.errors import DataError, RecipeError
from sumpool.text.load import load_tokenizer
from tests.data.test_prepare import WORDS, LinesConfig, corpus, files_of, is_prepared, run, write
from tests.text import bart
from tests.text.bart import learn, take_over


def with_tokenizer(path: Path, tokenizer: Path, vocabulary: int | None = None) -> DataConfig:
    return DataConfig.model_construct(source=LinesConfig(path=path), tokenizer=tokenizer, vocabulary=vocabulary)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    run(write(folder / "data", corpus()), folder / "prepared")
    return folder / "prepared"


def test_tokenizer_of_another_folder_is_copied(tmp_path: Path, prepared: Path) -> None:
    write(tmp_path / "data", corpus())
    settings = with_tokenizer(tmp_path / "data", prepared)
    report, _ = run(settings, tmp_path / "prepared")
    copied, trained = files_of(tmp_path / "prepared"), files_of(prepared)
    assert {name for name in copied if copied[name] != trained[name]} == {"manifest.json", "report.json"}
    assert replace(DataReport.load(prepared), notes=report.notes) == report  # training notes a smaller vocabulary
    assert is_prepared(with_tokenizer(tmp_path / "data", prepared, report.vocabulary), tmp_path / "prepared")


def test_special_tokens_stand_around_documents_and_before_summaries(tmp_path: Path) -> None:
    write(tmp_path / "data", corpus())
    tokenizer = take_over(learn([" ".join(WORDS)], tmp_path / "bart"), tmp_path / "taken")
    report, _ = run(with_tokenizer(tmp_path / "data", tmp_path / "taken"), tmp_path / "prepared")
    assert report.vocabulary == tokenizer.vocab_size
    assert not (tmp_path / "prepared" / "tokenizer.model").exists()
    shard = Shard.open(tmp_path / "prepared", "test")
    for number in range(len(shard)):
        item, text = shard[number], shard.text(number)
        assert item.target is not None
        assert item.target.tolist() == [*tokenizer.special_tokens.prefix, *tokenizer.encode(text.summary)]
        assert item.ids.tolist() == [bart.BOS, *tokenizer.encode(" ".join(text.document.split())), bart.EOS]
        assert item.sentences[-1] == item.sentences[-2]


def test_vocabulary_must_match_the_tokenizer(tmp_path: Path, prepared: Path) -> None:
    write(tmp_path / "data", corpus())
    size = load_tokenizer(prepared).vocab_size
    with pytest.raises(RecipeError, match=rf"data\.vocabulary must be null or {size}, the size of .*, got 420"):
        run(with_tokenizer(tmp_path / "data", prepared, 420), tmp_path / "new")
    with pytest.raises(DataError, match=r"none/tokenizer\.model must be a SentencePiece model, got .*No such file"):
        run(with_tokenizer(tmp_path / "data", tmp_path / "none"), tmp_path / "new")
    assert not (tmp_path / "new").exists()
