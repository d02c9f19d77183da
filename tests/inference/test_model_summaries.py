import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sumpool.core.decoding.config import LengthTarget
from sumpool.data.shards import Item
from sumpool.documents.document import Document, TextBlock
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.extraction import Reading
from sumpool.inference.generation import Generated, Generator
from sumpool.inference.loading import LoadedModel, load_for_generation, load_model
from sumpool.inference.model_summaries import ModelInput, ModelSummaries
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from sumpool.ranking.content_selection import encode_source
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.tokenizer import EncodedDocument, Tokenizer, encode_document, join_sentences, load_tokenizer
from tests.conftest import story
from tests.documents.test_source_sentences import BLOCKS, ODD, SPLITTER, parsed
from tests.text import bart
from tests.text.bart import learn, take_over


def test_the_lock_is_held_while_the_model_computes(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, generate = threading.Lock(), Generator.generate
    held: list[bool] = []

    def documents() -> Iterator[Document]:
        for number in range(3):
            held.append(lock.locked())
            yield Document(str(number), story(number, 4))

    def locked(*arguments: Any) -> list[Generated]:  # noqa: ANN401 - those of a generator
        assert lock.locked()
        return generate(*arguments)

    monkeypatch.setattr(Generator, "generate", locked)
    loaded = load_model(run_folder, ["summarize.batch_tokens=1"])
    for _ in Pipeline.of(loaded).summarize(documents(), check=lambda: held.append(lock.locked()), model_lock=lock):
        held.append(lock.locked())
    assert held == [False] * 9


def test_generated_text_may_be_chosen_among_samples_and_checked(run_folder: Path) -> None:
    documents = [Document(str(number), story(number, 4)) for number in range(3)]

    def summaries(*settings: str) -> list[Summary]:
        return list(Pipeline.of(load_model(run_folder, settings)).summarize(documents))

    chosen = summaries("summarize.mbr=true")
    assert [summary.score for summary in chosen] == [summary.score for summary in summaries()]
    checked = summaries("summarize.mbr=true", "summarize.factuality=spans")
    pairs = zip(documents, checked, strict=True)
    assert all(
        sentence.text in document.text for document, summary in pairs for sentence in summary.sentences if sentence.span
    )
    assert all(summary.text for summary in checked)


@pytest.mark.parametrize(("precision", "most"), [("int8", 4), ("bf16", 1), ("fp32", 1)])
def test_documents_are_batched_where_their_mates_change_no_sum(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, precision: str, most: int
) -> None:
    sizes, generate = [], Generator.generate

    def counting(
        generator: Generator, chunks: Sequence[Item], targets: Sequence[LengthTarget | None]
    ) -> list[Generated]:
        sizes.append(len(chunks))
        return generate(generator, chunks, targets)

    monkeypatch.setattr(Generator, "generate", counting)
    documents = [Document(str(number), story(number, 2 + 3 * number)) for number in range(4)]
    loaded = load_for_generation(run_folder, [f"summarize.precision={precision}", "summarize.mbr=true"])
    pipeline = Pipeline.of(loaded)
    first, last = (
        [(summary.id, summary.text, summary.score) for summary in pipeline.summarize(order)]
        for order in (documents, documents[::-1])
    )
    assert first == last[::-1]
    assert max(sizes) == most


def test_a_choice_of_source_sentences_is_an_extraction(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document("text", f"Hosts send packets. Plums fall. Gateways drop packets. {story(1, 40)}")
    loaded = load_model(run_folder, ["summarize.factuality=facts"])

    def summary(text: str) -> Summary:
        monkeypatch.setattr("sumpool.inference.summary_choice.SummaryChooser.choose_text", lambda *_: text)
        (generated,) = Pipeline.of(loaded).summarize([document])
        return generated

    copied = summary("Gateways drop packets. Hosts send packets.")
    assert (copied.indices, copied.cause) == ((0, 2), "the model copied whole sentences")
    assert summary("Gateways drop plums. Hosts send packets.").mode == "abstractive"
    assert summary("").mode == "extractive"
    assert summary("").cause == "no generated sentence is founded in the document"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("The tower waits for all its birds. of the birds. It rings the", "The tower waits for all its birds."),
        ("It rings. The tower waits for all its birds (or most.", "The tower waits for all its birds or most."),
        ("of the", "Of the"),
    ],
    ids=["fragments", "reference", "nothing else"],
)
def test_written_summaries_are_well_formed(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, summary: str
) -> None:
    monkeypatch.setattr(Generator, "generate", lambda _, chunks, *__, **___: [Generated(text, -1.0) for _ in chunks])
    loaded = load_model(run_folder, ["summarize.mode=abstractive"])
    (written,) = Pipeline.of(loaded).summarize([Document("a", story(1, 12))])
    assert written.text == summary
    assert " ".join(sentence.text for sentence in written.sentences) == summary


def test_sampled_summaries_guide_the_choice_where_the_model_has_learnt_such_documents(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Document("text", story(3, 60))
    loaded = load_model(run_folder, ["summarize.mode=extractive"])
    wanted = loaded.splitter.split(document.text)[40:42]

    def sentences(*samples: str) -> set[str]:
        monkeypatch.setattr(
            Generator, "generate", lambda _, chunks, *__: [Generated("", None, samples) for _ in chunks]
        )
        (selected,) = Pipeline.of(loaded).summarize([document])
        return {sentence.text for sentence in selected.sentences}

    assert sentences(*[" ".join(wanted)] * 3) & set(wanted)
    assert not sentences("Plums fall.") & set(wanted)


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


def encoded(document: Document, tokenizer: Tokenizer) -> tuple[EncodedDocument, tuple[int, ...]]:
    """Tokens that the model reads, and the numbers of their sentences in the document."""
    return encode_source(document, source_sentences(document, SPLITTER), tokenizer, SPLITTER)


def test_the_model_reads_the_prose_of_blocks(tokenizer: Tokenizer) -> None:
    document = parsed(*BLOCKS)
    sentences = source_sentences(document, SPLITTER)
    source, indices = encoded(document, tokenizer)
    pieces = numbered_texts(source.ids.tolist(), source.sentences.tolist(), tokenizer)
    assert pieces == [sentences[index].text for index in indices]
    assert indices == (1, 2, 3, 4, 9, 10)


def test_the_model_reads_all_where_no_block_is_prose(tokenizer: Tokenizer) -> None:
    document = parsed(TextBlock("Gateways", "heading", 1), TextBlock("a | b", "table_row"), TextBlock("c", "caption"))
    assert encoded(document, tokenizer)[1] == (0, 1, 2)


def test_rules_belong_to_the_sentence_behind_them(tokenizer: Tokenizer) -> None:
    document = Document(
        "a", f"Hosts send packets.\n\n{'=' * 10}\n\nGateways drop packets.\n\n{'-' * 10}\n\nIt works there."
    )
    assert encoded(document, tokenizer)[1] == (0, 1, 1, 2, 2)


def test_a_text_without_blocks_is_encoded_as_in_training(tokenizer: Tokenizer) -> None:
    for text in (ODD, story(1, 50), "", "A HEADING\nHosts send (packets. To) gateways.It works. Well."):
        document = Document("a", text)
        sentences = source_sentences(document, SPLITTER)
        source, indices = encoded(document, tokenizer)
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
    whole, whole_indices = encoded(document, tokenizer)
    monkeypatch.setattr("sumpool.ranking.content_selection._BATCH_SENTENCES", 3)
    batched, batched_indices = encoded(document, tokenizer)
    assert batched.ids.tolist() == whole.ids.tolist()
    assert batched.sentences.tolist() == whole.sentences.tolist()
    assert batched_indices == whole_indices


def test_pieces_without_tokens_take_no_number(run_folder: Path) -> None:
    tokenizer = load_tokenizer(run_folder)
    document = parsed(TextBlock("Hosts send."), TextBlock("\u3164\u200b x"), TextBlock("Gateways drop packets."))
    assert encoded(document, tokenizer)[1] == (0, 1, 2)
    assert encoded(parsed(), tokenizer)[1] == ()


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
    assert tokenizer.decode(encoded(document, tokenizer)[0].ids.tolist()) == "Hosts send packets. Gateways drop them."


LONG = Document("long", story(1, 120))


@pytest.fixture(scope="module")
def ranked(run_folder: Path) -> LoadedModel:
    """A model that reads 200 tokens, those of the sentences that the shipped ranker prefers."""
    return load_model(run_folder, ["summarize.on_overflow=select", "summarize.beams=1"])


def test_the_best_sentences_fill_the_input_in_their_order(ranked: LoadedModel) -> None:
    reading, read, item = read_by_model(ranked, LONG)
    indices = read.indices
    assert list(indices) == sorted(set(indices))
    assert indices != tuple(range(len(indices)))
    assert 170 < len(item.ids) == read.tokens_read <= 200 < read.tokens_total
    assert (read.is_selection, read.note) == (True, "")
    assert item.sentences.max() == len(indices) - 1
    for number, index in enumerate(indices):
        ids = [int(token) for token in item.ids[item.sentences == number]]
        assert " ".join(ranked.tokenizer.decode(ids).split()) == reading.sentences[index].text


def test_short_documents_are_read_whole(ranked: LoadedModel) -> None:
    short = Document("short", story(2, 6))
    _, _, item = read_by_model(ranked, short)
    assert item.ids.tolist() == encode_document(short.text, ranked.tokenizer, ranked.splitter).ids.tolist()


def test_of_sentences_that_never_fit_the_beginning_is_read(ranked: LoadedModel) -> None:
    endless = Document("endless", "river " * 500)  # a text without the words that begin sentences
    _, read, item = read_by_model(ranked, endless)
    whole = encode_document(endless.text, ranked.tokenizer, ranked.splitter)
    assert item.ids.tolist() == whole.ids[:200].tolist()
    assert (read.indices, read.is_selection) == ((0,), False)
    assert read.note.startswith(f"read 200 of {len(whole.ids):,} tokens")
