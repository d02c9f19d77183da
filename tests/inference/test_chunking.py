import random
from dataclasses import replace
from pathlib import Path

from sumpool.documents.document import Document
from sumpool.inference.chunking import ChunkedDocument, Chunker, batch_chunks, group_documents
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.text.tokenizer import encode_document
from tests.conftest import story
from tests.text import bart
from tests.text.bart import learn, take_over


def test_special_tokens_stand_around_what_is_read(run_folder: Path, tmp_path: Path) -> None:
    loaded = replace(load_model(run_folder), tokenizer=take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path))
    document = Document("long", story(1, 200))
    whole = encode_document(document.text, loaded.tokenizer, loaded.splitter)
    cut = Chunker(with_settings(loaded, on_overflow="truncate")).chunk(document).chunk
    assert cut is not None
    assert cut.ids.tolist() == [*whole.ids[:199], bart.EOS]
    selected = Chunker(with_settings(loaded, on_overflow="select")).chunk(document).chunk
    assert selected is not None
    assert len(selected.ids) <= 200
    assert (selected.ids[0], selected.ids[-1], selected.sentences[0]) == (bart.BOS, bart.EOS, 0)
    assert not {bart.BOS, bart.EOS} & set(selected.ids[1:-1].tolist())


def with_settings(loaded: LoadedModel, **settings: object) -> LoadedModel:
    summarize = loaded.recipe.summarize.model_copy(update=settings)
    return replace(loaded, recipe=loaded.recipe.model_copy(update={"summarize": summarize}))


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
    documents = [
        ChunkedDocument(Document(str(number), ""), None, 10 * number, 10 * number, 0.0) for number in range(600)
    ]
    groups = list(group_documents(documents, 5000))
    assert [document for group in groups for document in group] == documents
    assert all(sum(document.tokens_read for document in group[:-1]) < 5000 for group in groups)
    assert [len(group) for group in group_documents(documents, 10**9)] == [4, 8, 16, 32, 64, 128, 256, 92]
    assert [len(group) for group in group_documents(documents[:10], 10**9, 3)] == [3, 3, 3, 1]


def test_sentence_numbers_name_sentences_of_the_document(run_folder: Path) -> None:
    loaded = load_model(run_folder, ["summarize.on_overflow=truncate"])
    chunked = Chunker(loaded).chunk(Document("long", "HEADING\n" + story(1, 100)))
    chunk, indices = chunked.chunk, chunked.indices
    assert chunk is not None
    assert {sentence.kind for sentence in chunked.sentences[1:]} == {"paragraph"}
    assert list(indices) == list(range(1, int(chunk.sentences[-1]) + 2))
    for number, index in enumerate(indices[:-1]):
        tokens = loaded.tokenizer.decode(chunk.ids[chunk.sentences == number].tolist())
        assert " ".join(tokens.split()).removeprefix("HEADING ") == chunked.sentences[index].text


def test_a_cut_sentence_is_read_to_the_cut(run_folder: Path) -> None:
    unending = " ".join(story(1, 200).replace(".", "").split())
    loaded = load_model(run_folder, ["summarize.on_overflow=truncate"])
    chunked = Chunker(loaded).chunk(Document("long", f"Hosts send. {unending}."))
    assert chunked.tokens_read == 200 < chunked.tokens_total
    assert chunked.indices == (0, 1)
