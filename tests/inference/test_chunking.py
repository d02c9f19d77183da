import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sumpool.documents import Document
from sumpool.inference.chunking import ChunkedDocument, Chunker, gather, stretches, windows
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.text.document import encode_document
from tests.conftest import story
from tests.text import bart
from tests.text.bart import learn, take_over


@pytest.mark.parametrize("length", [1, 7, 50, 400])
def test_windows_cover_a_document_and_end_with_sentences(length: int) -> None:
    choice = random.Random(length)
    for _ in range(50):
        sentences = np.repeat(np.arange(length), [choice.randint(1, 12) for _ in range(length)])
        most = choice.randint(12, 100)
        bounds = list(windows(sentences, most))
        assert [start for start, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
        assert bounds[-1][1] == len(sentences)
        assert all(0 < end - start <= most for start, end in bounds)
        assert all(sentences[end - 1] != sentences[end] for _, end in bounds[:-1])
        if len(sentences) <= most:
            assert len(bounds) == 1


def test_every_window_numbers_its_sentences_from_zero(run_folder: Path) -> None:
    loaded = load_model(run_folder, ["summarize.on_overflow=window"])
    reading = Chunker(loaded).read(Document("long", story(1, 100)))
    whole = encode_document(story(1, 100), loaded.tokenizer, loaded.splitter)
    assert len(reading.passages) > 2
    assert np.concatenate([passage.ids for passage in reading.passages]).tolist() == whole.ids.tolist()
    assert all(passage.sentences[0] == 0 for passage in reading.passages)
    assert sum(passage.sentences[-1] + 1 for passage in reading.passages) == whole.sentences[-1] + 1


def test_every_window_has_special_tokens_around_it(run_folder: Path, tmp_path: Path) -> None:
    loaded = replace(load_model(run_folder), tokenizer=take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path))
    document = Document("long", story(1, 200))
    whole = encode_document(document.text, loaded.tokenizer, loaded.splitter)
    (cut,) = Chunker(loaded).read(document).passages
    assert cut.ids.tolist() == [*whole.ids[:199], bart.EOS]
    reading = Chunker(with_settings(loaded, on_overflow="window")).read(document)
    assert len(reading.passages) > 2
    assert reading.read == reading.total == len(whole.ids)
    for passage in reading.passages:
        assert len(passage.ids) <= 200
        assert (passage.ids[0], passage.ids[-1], passage.sentences[0]) == (bart.BOS, bart.EOS, 0)
    inner = np.concatenate([passage.ids[1:-1] for passage in reading.passages])
    assert inner.tolist() == whole.ids[1:-1].tolist()


def with_settings(loaded: LoadedModel, **settings: object) -> LoadedModel:
    summarize = loaded.recipe.summarize.model_copy(update=settings)
    return replace(loaded, recipe=loaded.recipe.model_copy(update={"summarize": summarize}))


def test_windows_are_of_about_equal_length() -> None:
    sizes = [end - start for start, end in windows(np.arange(2100) // 10, 1000)]
    assert sizes == [700, 700, 700]


def test_a_sentence_longer_than_a_window_is_cut() -> None:
    assert list(windows(np.zeros(25, int), 10)) == [(0, 9), (9, 17), (17, 25)]


def test_passages_of_similar_length_meet_within_the_budget() -> None:
    choice = random.Random(1)
    lengths = [choice.randint(1, 300) for _ in range(500)]
    batches = gather(lengths, 2000)
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    assert [min(batch) for batch in batches] == sorted(min(batch) for batch in batches)
    for batch in batches:
        widest = max(lengths[index] for index in batch)
        assert widest * len(batch) <= 2000
        assert len(batch) <= 64
    padding = sum(max(lengths[index] for index in batch) * len(batch) for batch in batches) / sum(lengths)
    assert padding < 1.1


def test_a_passage_beyond_the_budget_is_a_batch_of_its_own() -> None:
    assert gather([50, 5000, 60], 1000) == [[0, 2], [1]]
    assert gather([], 1000) == []


def test_stretches_are_bounded() -> None:
    readings = [ChunkedDocument(str(number), "", (), 10 * number, 10 * number, 0.0) for number in range(600)]
    found = list(stretches(readings, 5000))
    assert [reading for stretch in found for reading in stretch] == readings
    assert all(sum(reading.read for reading in stretch[:-1]) < 5000 for stretch in found)
    assert max(len(list(stretch)) for stretch in stretches(readings, 10**9)) == 256
