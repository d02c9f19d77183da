"""Preparation of running text: splits, vocabularies, and teacher, whose boundaries are those of unigram subwords."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from sumpool.data.config import SPLITS
from sumpool.data.prepared_folder import find_or_prepare, verify_prepared
from sumpool.errors import DataError, RecipeError
from sumpool.progress import no_op
from sumpool.tasks.language_modeling.config import TextDataConfig, TextReport
from sumpool.tasks.language_modeling.prepare import SUBWORDS, WordSubwords, read_texts
from sumpool.tasks.language_modeling.running_text import RunningTextConfig
from sumpool.tasks.language_modeling.sources import TextSourceConfig
from sumpool.tasks.language_modeling.stream import TextStream
from sumpool.text.tokenizer import load_tokenizer
from sumpool.text.units import UnitTokenizer

TEXT = "the cat dog sees walks walking quickly under over river mountain and a of to house"
WORDS = TEXT.split()


def corpus(words: int = 4000) -> str:
    return " ".join(random.Random(1).choices(WORDS, k=words))


def prepare(tmp_path: Path, config: TextDataConfig, *, skip: bool = False) -> tuple[Path, TextReport]:
    default = tmp_path / "prepared" / "text"
    folder = find_or_prepare(config, default, skip_bad_rows=skip, report=no_op, check=no_op)
    return folder, TextReport.load(folder)


def decoded(folder: Path) -> Iterator[str]:
    tokenizer = load_tokenizer(folder)
    for split in SPLITS:
        yield tokenizer.decode(TextStream(folder, split, tokenizer.vocab_size).ids.tolist())


def write(path: Path, text: str) -> TextSourceConfig:
    path.write_text(text, "utf-8", newline="")
    return TextSourceConfig(kind="plain", path=path)


@pytest.mark.slow
def test_a_text_is_divided_by_position_as_text8_is(tmp_path: Path) -> None:
    text = corpus()
    folder, report = prepare(tmp_path, TextDataConfig(source=write(tmp_path / "text8", text)))
    train, validation, test = decoded(folder)
    assert train + validation + test == text
    assert len(validation) == len(test) == round(len(text) / 20)
    assert report.splits["train"].tokens == len(train)
    assert report.splits["test"].words == len(test.split())
    assert report.vocabulary == load_tokenizer(folder).vocab_size
    verify_prepared(folder, full=True)
    assert report.rows()[0] == ("", *SPLITS)


@pytest.mark.slow
def test_parts_of_a_text_do_not_change_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path / "fi.txt", corpus(500).replace("river", "Jöki 7") + " " + "x" * 300)
    settings = {"source": source, "clean": RunningTextConfig(language="fi"), "subwords": 60}
    whole, _ = prepare(tmp_path, TextDataConfig.model_validate(settings))
    monkeypatch.setattr("sumpool.tasks.language_modeling.prepare._PART", 400)
    parts, _ = prepare(tmp_path, TextDataConfig.model_validate({**settings, "prepared": tmp_path / "parts"}))
    assert list(decoded(parts)) == list(decoded(whole))
    for split in SPLITS:
        one, other = (TextStream(folder, split).boundaries for folder in (whole, parts))
        assert one is not None
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("clean", "expected"),
    [
        (None, "One 1\n\n\nTwo\n"),
        (RunningTextConfig(language="en"), "one one two "),
        (RunningTextConfig(language="en", lines=True), "one one\ntwo\n"),
    ],
)
@pytest.mark.slow
def test_documents_are_separated(clean: RunningTextConfig | None, expected: str, tmp_path: Path) -> None:
    for name, text in (("a", "One 1\n"), ("b", ""), ("c", "Two\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    source = TextSourceConfig(kind="plain", path=tmp_path)
    texts, documents, _ = read_texts(
        TextDataConfig(source=source, clean=clean, validation_share=0.3, test_share=0.3),
        skip_bad_rows=False, report=no_op, check=no_op,
    )  # fmt: skip
    assert "".join(texts.values()) == expected
    assert documents["train"] == 3


@pytest.mark.slow
def test_files_per_split_limits_and_unknown_characters(tmp_path: Path) -> None:
    for split in SPLITS:
        (tmp_path / f"{split}.txt").write_text(f"{split} " * 100)
    source = TextSourceConfig(kind="plain", **{split: tmp_path / f"{split}.txt" for split in SPLITS})
    folder, report = prepare(tmp_path, TextDataConfig(source=source, max_characters=24, max_evaluation_characters=10))
    train, *_ = decoded(folder)
    assert train == "train train train train "
    assert [report.splits[split].tokens for split in SPLITS] == [24, 10, 10]
    _, report = prepare(tmp_path, TextDataConfig(source=source, vocabulary_from="all"))
    assert report.splits["validation"].unknown == 0
    source = write(tmp_path / "a.txt", "ab" * 500 + "xy" * 50)
    _, report = prepare(tmp_path / "unknown", TextDataConfig(source=source))
    assert (report.splits["train"].unknown, report.splits["test"].unknown) == (0, report.splits["test"].tokens)


@pytest.mark.slow
def test_the_vocabulary_of_other_data(tmp_path: Path) -> None:
    source = write(tmp_path / "a.txt", corpus())
    folder, report = prepare(tmp_path, TextDataConfig(source=source))
    other, second = prepare(tmp_path, TextDataConfig(source=source, tokenizer=folder))
    assert other != folder
    assert second.splits == report.splits
    with pytest.raises(DataError, match=r"none.* must "):
        prepare(tmp_path, TextDataConfig(source=source, tokenizer=tmp_path / "none"))
    UnitTokenizer.train(["a b"], tmp_path, "words", 300)
    with pytest.raises(RecipeError, match=r"data\.tokenizer must have a vocabulary of characters, got another"):
        prepare(tmp_path, TextDataConfig(source=source, tokenizer=tmp_path))


@pytest.mark.slow
def test_boundaries_of_the_teacher(tmp_path: Path) -> None:
    text = corpus().replace("river", "jöki")
    settings = {"source": write(tmp_path / "a.txt", text), "subwords": 40}
    folder, report = prepare(tmp_path, TextDataConfig.model_validate(settings))
    stream = TextStream(folder, "train")
    assert stream.boundaries is not None
    tokens = load_tokenizer(folder).token_bytes()
    segments, segment = [], b""
    for token, is_boundary in zip(stream.ids.tolist(), stream.boundaries.tolist(), strict=True):
        segment += tokens[token]
        if is_boundary:
            segments.append(segment.decode())
            segment = b""
    assert "".join(segments) == text[: len("".join(segments))]
    assert report.splits["train"].boundaries == len(segments)
    model = WordSubwords.load(folder / SUBWORDS)
    subwords = [f"{word} " for word in WORDS if not model.boundaries(word).any()]
    assert set(subwords) <= set(segments)
    assert any(not segment.endswith(" ") for segment in segments)
    assert report.rows()[-1][0] == "tokens per segment of the teacher"


@pytest.mark.slow
def test_bad_rows_stop_or_are_counted_and_every_split_needs_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": [corpus(100), None]}), path)
    config = TextDataConfig(source=TextSourceConfig(kind="wiki40b", path=path))
    with pytest.raises(DataError, match=r"a.parquet:2: 'text' must .*; correct it, or skip such rows with"):
        prepare(tmp_path, config)
    assert not (tmp_path / "prepared" / "text").exists()
    _, report = prepare(tmp_path, config, skip=True)
    assert (report.read, report.kept, report.rejected) == (2, 1, 1)
    with pytest.raises(DataError, match="the validation split must hold at least two characters, got 0; take more"):
        prepare(tmp_path / "short", TextDataConfig(source=write(tmp_path / "a.txt", "abc")))


INFLECTED = "walking talking walks talks walked talked the cat and the dog walk and talk " * 50


def test_boundaries_are_those_of_the_subwords_of_which_more_are_longer(tmp_path: Path) -> None:
    model = WordSubwords.train(INFLECTED, tmp_path / "subwords.model", 30)
    text = " walking  the talked"
    segments, segment = [], ""
    for character, is_boundary in zip(text, model.boundaries(text), strict=True):
        segment += character
        if is_boundary:
            segments.append(segment)
            segment = ""
    words = "".join(segments).split(" ")
    assert segments[0] == " "
    assert words[1:4] == ["walking", "", "the"]
    assert all(" " not in part[:-1] for part in segments)
    assert len(segments) > 4
    assert segment
    assert not model.boundaries("walking")[-1]
    counts = [
        WordSubwords.train(INFLECTED, tmp_path / "subwords.model", size).boundaries(INFLECTED).sum()
        for size in (17, 60)
    ]
    assert counts[0] > counts[1] >= INFLECTED.count(" ")


def test_a_text_without_words_or_with_too_many_characters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must hold some text, got none"):
        WordSubwords.train("  \n ", tmp_path / "subwords.model", 30)
    with pytest.raises(DataError, match=r"data\.subwords must hold every character of the training text, got 5"):
        WordSubwords.train(INFLECTED, tmp_path / "subwords.model", 5)
    (tmp_path / "subwords.model").write_bytes(b"none")
    with pytest.raises(DataError, match="must be a SentencePiece model, got"):
        WordSubwords.load(tmp_path / "subwords.model")
    # long lines are cut for training
    WordSubwords.train("ab" * 3000 + " cd\n" * 900, tmp_path / "subwords.model", 30)
