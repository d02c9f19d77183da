import random
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from sumpool.documents.document import Document
from sumpool.inference.chunking import ChunkedDocument, Chunker, batch_chunks, group_documents, split_windows
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.text.tokenizer import encode_document
from tests.conftest import story
from tests.text import bart
from tests.text.bart import learn, take_over


def test_windows_cover_a_document_and_end_with_sentences() -> None:
    for length in (
        1,
        7,
        50,
        400,
    ):
        choice = random.Random(length)
        for _ in range(50):
            sentences = np.repeat(np.arange(length), [choice.randint(1, 12) for _ in range(length)])
            most = choice.randint(12, 100)
            bounds = list(split_windows(sentences, most))
            assert [start for start, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
            assert bounds[-1][1] == len(sentences)
            assert all(0 < end - start <= most for start, end in bounds)
            assert all(sentences[end - 1] != sentences[end] for _, end in bounds[:-1])
            if len(sentences) <= most:
                assert len(bounds) == 1


def test_every_window_numbers_its_sentences_from_zero(run_folder: Path) -> None:
    loaded = load_model(run_folder, ["summarize.on_overflow=window"])
    chunked = Chunker(loaded).chunk(Document("long", story(1, 100)))
    whole = encode_document(story(1, 100), loaded.tokenizer, loaded.splitter)
    assert len(chunked.chunks) > 2
    assert np.concatenate([chunk.ids for chunk in chunked.chunks]).tolist() == whole.ids.tolist()
    assert all(chunk.sentences[0] == 0 for chunk in chunked.chunks)
    assert sum(chunk.sentences[-1] + 1 for chunk in chunked.chunks) == whole.sentences[-1] + 1


def test_every_window_has_special_tokens_around_it(run_folder: Path, tmp_path: Path) -> None:
    loaded = replace(load_model(run_folder), tokenizer=take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path))
    document = Document("long", story(1, 200))
    whole = encode_document(document.text, loaded.tokenizer, loaded.splitter)
    (cut,) = Chunker(with_settings(loaded, on_overflow="truncate")).chunk(document).chunks
    assert cut.ids.tolist() == [*whole.ids[:199], bart.EOS]
    chunked = Chunker(with_settings(loaded, on_overflow="window")).chunk(document)
    assert len(chunked.chunks) > 2
    assert chunked.tokens_read == chunked.tokens_total == len(whole.ids)
    for chunk in chunked.chunks:
        assert len(chunk.ids) <= 200
        assert (chunk.ids[0], chunk.ids[-1], chunk.sentences[0]) == (bart.BOS, bart.EOS, 0)
    inner = np.concatenate([chunk.ids[1:-1] for chunk in chunked.chunks])
    assert inner.tolist() == whole.ids[1:-1].tolist()


def with_settings(loaded: LoadedModel, **settings: object) -> LoadedModel:
    summarize = loaded.recipe.summarize.model_copy(update=settings)
    return replace(loaded, recipe=loaded.recipe.model_copy(update={"summarize": summarize}))


def test_windows_are_of_about_equal_length() -> None:
    sizes = [end - start for start, end in split_windows(np.arange(2100) // 10, 1000)]
    assert sizes == [700, 700, 700]


def test_a_sentence_longer_than_a_window_is_cut() -> None:
    assert list(split_windows(np.zeros(25, int), 10)) == [(0, 9), (9, 17), (17, 25)]


def test_chunks_of_similar_length_meet_within_the_budget() -> None:
    choice = random.Random(1)
    lengths = [choice.randint(1, 300) for _ in range(500)]
    batches = batch_chunks(lengths, 2000)
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    assert [min(batch) for batch in batches] == sorted(min(batch) for batch in batches)
    for batch in batches:
        widest = max(lengths[index] for index in batch)
        assert widest * len(batch) <= 2000
        assert len(batch) <= 64
    padding = sum(max(lengths[index] for index in batch) * len(batch) for batch in batches) / sum(lengths)
    assert padding < 1.1


def test_a_chunk_beyond_the_budget_is_a_batch_of_its_own() -> None:
    assert batch_chunks([50, 5000, 60], 1000) == [[0, 2], [1]]
    assert batch_chunks([], 1000) == []


def test_groups_are_bounded() -> None:
    documents = [ChunkedDocument(Document(str(number), ""), (), 10 * number, 10 * number, 0.0) for number in range(600)]
    groups = list(group_documents(documents, 5000))
    assert [document for group in groups for document in group] == documents
    assert all(sum(document.tokens_read for document in group[:-1]) < 5000 for group in groups)
    assert [len(group) for group in group_documents(documents, 10**9)] == [4, 8, 16, 32, 64, 128, 256, 92]
    assert [len(group) for group in group_documents(documents[:10], 10**9, 3)] == [3, 3, 3, 1]


def test_sentence_numbers_of_windows_name_sentences_of_the_document(run_folder: Path) -> None:
    loaded = load_model(run_folder, ["summarize.on_overflow=window"])
    text = "HEADING\n" + story(1, 100)
    chunked = Chunker(loaded).chunk(Document("long", text))
    count = len(chunked.sentences)
    assert [sentence.kind for sentence in chunked.sentences] == ["heading"] + ["paragraph"] * (count - 1)
    assert list(chain.from_iterable(chunked.indices)) == list(range(1, count))
    for chunk, indices in zip(chunked.chunks, chunked.indices, strict=True):
        assert len(indices) == chunk.sentences[-1] + 1
        for number, index in enumerate(indices):
            tokens = loaded.tokenizer.decode(chunk.ids[chunk.sentences == number].tolist())
            assert " ".join(tokens.split()).removeprefix("HEADING ") == chunked.sentences[index].text


def test_the_parts_of_a_cut_sentence_are_of_one_sentence(run_folder: Path) -> None:
    loaded = load_model(run_folder, ["summarize.on_overflow=window"])
    unending = " ".join(story(1, 200).replace(".", "").split())
    chunked = Chunker(loaded).chunk(Document("long", f"Hosts send. {unending}."))
    assert len(chunked.chunks) > 2
    assert chunked.indices == ((0, 1), *[(1,)] * (len(chunked.chunks) - 1))
