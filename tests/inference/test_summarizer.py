"""The Python API: texts and files in, typed results out."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from sumpool import Summarizer
from sumpool.errors import DataError, RecipeError
from sumpool.io.manifest import SHIPPED
from tests.conftest import story


@pytest.fixture(scope="module")
def summarizer(run_folder: Path) -> Summarizer:
    return Summarizer.load(run_folder)


@pytest.mark.parametrize("mode", ["abstractive", "extractive"])
def test_a_text_becomes_a_typed_result(summarizer: Summarizer, mode: Any) -> None:  # noqa: ANN401 - a literal
    text = story(3, 100)
    result = summarizer.summarize(text, mode=mode)
    assert result.id == "1"
    assert " ".join(result.text.split()) == " ".join(sentence.text for sentence in result.sentences)
    assert 150 < result.tokens_read <= 200 < result.tokens_total
    assert (result.score is None) == (mode == "extractive")
    assert result.mode == mode
    for sentence in result.sentences:
        assert (sentence.span is None) == (result.mode == "abstractive")
        if sentence.span:
            start, end = sentence.span
            assert " ".join(text[start:end].split()) == sentence.text


def test_files_and_iterables(summarizer: Summarizer, tmp_path: Path) -> None:
    file, lines = tmp_path / "a.txt", tmp_path / "b.jsonl"
    file.write_text(story(1, 5))
    lines.write_text('{"id": "x", "text": "Hosts send packets."}\n{"id": "y", "text": ""}\n')
    single = summarizer.summarize(file)
    assert (single.id, bool(single.text)) == (str(file), True)
    results = summarizer.summarize([file, story(1, 5), lines, ""])
    assert [result.id for result in results] == [str(file), "2", "x", "y", "4"]
    assert results[0] == single
    assert results[1].text == single.text
    assert [bool(result.reason) for result in results] == [False, False, False, True, True]
    assert results[4].sentences == ()
    assert [result.text for result in summarizer.stream([file, story(1, 5)], lookahead=2)] == [single.text] * 2


def test_a_stream_yields_each_result_before_the_next_document_is_read(summarizer: Summarizer) -> None:
    read: list[int] = []

    def endless() -> Iterator[str]:
        while True:
            read.append(len(read))
            yield story(len(read), 4)

    results = summarizer.stream(endless())
    assert read == []
    for count in range(1, 4):
        assert next(results).text
        assert len(read) == count


def test_lengths_are_in_words_or_relative(summarizer: Summarizer) -> None:
    texts = [story(number, 20) for number in range(2)]
    short, three, many = (summarizer.summarize(texts, length=length)[0].text for length in ("short", 3, 1000))
    assert len(short.split()) < len(summarizer.summarize(texts[0], length="long").text.split())
    assert len(three.split()) < len(short.split())
    assert many == " ".join(texts[0].split())
    assert len(summarizer.summarize(texts[0], length="3s", mode="extractive").sentences) == 3


def test_wrong_arguments_are_errors_of_the_call(summarizer: Summarizer) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"length": 0}, r"length must be auto, short, .*, or like 150w \(words\).*, got '0w'"),
        ({"length": "tiny"}, "length must be auto, short, .*, got 'tiny'"),
        ({"mode": "best"}, "mode must be 'abstractive' or 'extractive', got 'best'"),
        ({"documents": None}, "documents must be texts or files, got NoneType"),
        ({"lookahead": 0}, "lookahead must be at least 1 document, got 0"),
    ]
    with pytest.raises(RecipeError, match=r"summarize\.beams"):
        Summarizer.load(SHIPPED, overrides=["summarize.beams=0"])
    for settings, message in wrong:
        with pytest.raises(RecipeError, match=message):
            summarizer.stream(**{"documents": ["text"], **settings})


def test_single_documents_without_a_summary_are_errors(summarizer: Summarizer, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the document must hold text, got none"):
        summarizer.summarize(" ")
    with pytest.raises(DataError, match=r"missing\.txt must"):
        summarizer.summarize(tmp_path / "missing.txt")
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(story(1, 2))
    with pytest.raises(DataError, match=r"must be one document, got 2; summarize\(\[path\]\) takes several"):
        summarizer.summarize(tmp_path)
    with pytest.raises(RecipeError, match=r"a document must be a str \(text\) or a Path \(file\), got int"):
        summarizer.summarize(cast(Iterable[str], [1]))


@pytest.mark.slow
def test_threads_share_a_model(summarizer: Summarizer) -> None:
    texts = [story(number, 3 + number) for number in range(6)]
    expected = summarizer.summarize(texts, mode="extractive")
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda first: list(summarizer.stream(texts[first::2], mode="extractive")), range(2)))
    for first, found in enumerate(results):
        assert [result.sentences for result in found] == [result.sentences for result in expected[first::2]]
