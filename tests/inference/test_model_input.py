from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sumpool.data.shards import Item
from sumpool.documents.document import Document, TextBlock
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.extraction import Reading
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.inference.model_summaries import ModelInput, ModelSummaries
from sumpool.inference.pipeline import Pipeline
from sumpool.ranking.content_selection import encode_source, encoded_sentences
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.tokenizer import Tokenizer, encode_document, join_sentences, load_tokenizer
from tests.conftest import story
from tests.documents.test_source_sentences import BLOCKS, ODD, SPLITTER, parsed
from tests.text import bart
from tests.text.bart import learn, take_over


def test_special_tokens_stand_around_what_is_read(run_folder: Path, tmp_path: Path) -> None:
    loaded = replace(load_model(run_folder), tokenizer=take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path))
    document = Document("long", story(1, 200))
    whole = encode_document(document.text, loaded.tokenizer, loaded.splitter)
    _, _, cut = read_by_model(with_settings(loaded, on_overflow="truncate"), document)
    assert cut.ids.tolist() == [*whole.ids[:199], bart.EOS]
    _, _, selected = read_by_model(with_settings(loaded, on_overflow="select"), document)
    assert len(selected.ids) <= 200
    assert (selected.ids[0], selected.ids[-1], selected.sentences[0]) == (bart.BOS, bart.EOS, 0)
    assert not {bart.BOS, bart.EOS} & set(selected.ids[1:-1].tolist())


def read_by_model(loaded: LoadedModel, document: Document) -> tuple[Reading, ModelInput, Item]:
    """Return a document, and what the model reads of it."""
    reading = Pipeline.of(loaded).read(document)
    assert reading.input
    assert reading.input.item
    return reading, reading.input, reading.input.item


def with_settings(loaded: LoadedModel, **settings: object) -> LoadedModel:
    summarize = loaded.recipe.summarize.model_copy(update=settings)
    return replace(loaded, recipe=loaded.recipe.model_copy(update={"summarize": summarize}))


def test_groups_are_bounded(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def generate(_: ModelSummaries, group: Sequence[Reading], *__: object) -> Iterator[tuple[Reading, None, float]]:
        sizes.append(len(group))
        return iter((reading, None, 0.0) for reading in group)

    def encode(_: ModelSummaries, reading: Reading) -> Reading:
        return replace(reading, input=ModelInput(Item("a", np.zeros(10), np.zeros(10), None), 10))

    monkeypatch.setattr(ModelSummaries, "generate", generate)
    monkeypatch.setattr(ModelSummaries, "encode", encode)

    def sizes_of(count: int, lookahead: int | None, *settings: str) -> list[int]:
        sizes.clear()
        documents = [Document(str(number), "Hosts send packets.") for number in range(count)]
        loaded = load_model(run_folder, ["summarize.mode=abstractive", *settings])
        found = Pipeline.of(loaded).summarize(documents, lookahead=lookahead)
        assert [summary.id for summary in found] == [document.id for document in documents]
        return sizes

    assert sizes_of(600, None) == [4, 8, 16, 32, 64, 128, 256, 92]
    assert sizes_of(10, 3) == [3, 3, 3, 1]
    assert sizes_of(10, None, "summarize.batch_tokens=3") == [3, 3, 3, 1]


def test_sentence_numbers_name_sentences_of_the_document(run_folder: Path) -> None:
    loaded = load_model(run_folder, ["summarize.on_overflow=truncate"])
    reading, read, item = read_by_model(loaded, Document("long", "HEADING\n" + story(1, 100)))
    indices = read.indices
    assert {sentence.kind for sentence in reading.sentences[1:]} == {"paragraph"}
    assert list(indices) == list(range(1, int(item.sentences[-1]) + 2))
    for number, index in enumerate(indices[:-1]):
        tokens = loaded.tokenizer.decode(item.ids[item.sentences == number].tolist())
        assert " ".join(tokens.split()).removeprefix("HEADING ") == reading.sentences[index].text


def test_a_cut_sentence_is_read_to_the_cut(run_folder: Path) -> None:
    unending = " ".join(story(1, 200).replace(".", "").split())
    loaded = load_model(run_folder, ["summarize.on_overflow=truncate"])
    _, read, _ = read_by_model(loaded, Document("long", f"Hosts send. {unending}."))
    assert read.tokens_read == 200 < read.tokens_total
    assert read.indices == (0, 1)


@pytest.fixture(params=["sentencepiece", "bpe"])
def tokenizer(request: pytest.FixtureRequest, run_folder: Path, tmp_path: Path) -> Tokenizer:
    if request.param == "sentencepiece":
        return load_tokenizer(run_folder)
    return take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path)


def test_the_model_reads_the_prose_of_blocks(tokenizer: Tokenizer) -> None:
    document = parsed(*BLOCKS)
    sentences = source_sentences(document, SPLITTER)
    assert encoded_sentences(document, sentences) == [1, 2, 3, 4, 9, 10]
    source, indices = encode_source(document, sentences, tokenizer, SPLITTER)
    pieces = numbered_texts(source.ids.tolist(), source.sentences.tolist(), tokenizer)
    assert pieces == [sentences[index].text for index in indices]
    assert indices == (1, 2, 3, 4, 9, 10)


def test_the_model_reads_all_where_no_block_is_prose(tokenizer: Tokenizer) -> None:
    document = parsed(TextBlock("Gateways", "heading", 1), TextBlock("a | b", "table_row"), TextBlock("c", "caption"))
    sentences = source_sentences(document, SPLITTER)
    assert encode_source(document, sentences, tokenizer, SPLITTER)[1] == (0, 1, 2)


def test_a_text_without_blocks_is_encoded_as_in_training(tokenizer: Tokenizer) -> None:
    for text in (ODD, story(1, 50), "", "A HEADING\nHosts send (packets. To) gateways.It works. Well."):
        document = Document("a", text)
        sentences = source_sentences(document, SPLITTER)
        source, indices = encode_source(document, sentences, tokenizer, SPLITTER)
        expected = join_sentences(
            tokenizer.encode_batch(tokenizer.split_sentences(text, SPLITTER)), tokenizer.vocab_size
        )
        assert source.ids.tolist() == expected.ids.tolist()
        assert source.sentences.tolist() == expected.sentences.tolist()
        pieces = numbered_texts(source.ids.tolist(), source.sentences.tolist(), tokenizer)
        assert len(pieces) == len(indices)
        for piece, index in zip(pieces, indices, strict=True):
            assert piece.endswith(sentences[index].text)
        assert list(indices) == sorted(set(indices))


def test_sentences_are_encoded_in_batches(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, document = load_tokenizer(run_folder), Document("a", f"{story(1, 20)}\n\n{ODD}")
    sentences = source_sentences(document, SPLITTER)
    whole, whole_indices = encode_source(document, sentences, tokenizer, SPLITTER)
    monkeypatch.setattr("sumpool.ranking.content_selection._BATCH_SENTENCES", 3)
    batched, batched_indices = encode_source(document, sentences, tokenizer, SPLITTER)
    assert batched.ids.tolist() == whole.ids.tolist()
    assert batched.sentences.tolist() == whole.sentences.tolist()
    assert batched_indices == whole_indices


def test_pieces_without_tokens_take_no_number(run_folder: Path) -> None:
    tokenizer = load_tokenizer(run_folder)
    document = parsed(TextBlock("Hosts send."), TextBlock("\u3164\u200b x"), TextBlock("Gateways drop packets."))
    sentences = source_sentences(document, SPLITTER)
    assert encode_source(document, sentences, tokenizer, SPLITTER)[1] == (0, 1, 2)
    assert encode_source(parsed(), (), tokenizer, SPLITTER)[1] == ()


def numbered_texts(ids: list[int], sentences: list[int], tokenizer: Tokenizer) -> list[str]:
    """Texts of the tokens of each sentence number."""
    by_number: dict[int, list[int]] = {}
    for token, number in zip(ids, sentences, strict=True):
        by_number.setdefault(number, []).append(token)
    return [" ".join(tokenizer.decode(by_number[number]).split()) for number in sorted(by_number)]


def test_sentences_of_a_bart_keep_the_spaces_between_them(tmp_path: Path) -> None:
    tokenizer = take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path)
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    document = parsed(TextBlock("Hosts send packets."), TextBlock("Gateways drop them."))
    sentences = source_sentences(document, SPLITTER)
    ids = encode_source(document, sentences, tokenizer, SPLITTER)[0].ids.tolist()
    assert tokenizer.decode(ids) == "Hosts send packets. Gateways drop them."


def test_rules_belong_to_the_sentence_behind_them(tokenizer: Tokenizer) -> None:
    text = "\n\n".join(
        ("Hosts send packets to gateways.", "=" * 10, "Gateways drop packets.", "-" * 10, "It works there.")
    )
    document = Document("a", text)
    sentences = source_sentences(document, SPLITTER)
    assert [sentence.text for sentence in sentences] == [text.split("\n\n")[place] for place in (0, 2, 4)]
    source, indices = encode_source(document, sentences, tokenizer, SPLITTER)
    pieces = numbered_texts(source.ids.tolist(), source.sentences.tolist(), tokenizer)
    for piece, index in zip(pieces, indices, strict=True):
        assert piece.strip("=- ") in sentences[index].text
