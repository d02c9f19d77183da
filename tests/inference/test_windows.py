"""One summary of a document longer than the model reads."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sumpool.data.items import Item
from sumpool.documents.document import Document
from sumpool.inference.chunking import ChunkedDocument, Chunker, cover
from sumpool.inference.generation import Generated, Generator, NeedsSearch, OnDrafts
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.inference.summaries import generate_summaries
from sumpool.inference.windows import combine_windows, window_weights
from sumpool.text.tokenizer import encode_document
from tests.conftest import story
from tests.text import bart
from tests.text.bart import learn, take_over


@pytest.fixture
def loaded(run_folder: Path) -> LoadedModel:
    return load_model(run_folder, ["summarize.mode=auto", "summarize.samples=3", "summarize.on_overflow=window"])


def generator_of(loaded: LoadedModel) -> Generator:
    return Generator(loaded.model, loaded.tokenizer, loaded.recipe.summarize, loaded.lengths)


def combined(loaded: LoadedModel, text: str, samples: Sequence[tuple[str, ...]]) -> tuple[ChunkedDocument, Generated]:
    chunked = Chunker(loaded).chunk(Document("long", text))
    windows = [Generated(texts[0], -1.0, texts) for texts in samples[: len(chunked.chunks)]]
    after, (pooled,) = combine_windows(chunked, windows, generator_of(loaded))
    return after, pooled


def test_the_first_window_holds_what_truncation_keeps() -> None:
    sentences = np.arange(2100) // 10
    assert list(cover(sentences, 1005)) == [(0, 1000), (1000, 1550), (1550, 2100)]
    assert list(cover(np.zeros(25, int), 10)) == [(0, 10), (10, 18), (18, 25)]


def test_the_first_window_of_a_document_is_as_long_as_possible(loaded: LoadedModel) -> None:
    for number in range(3):
        chunked = Chunker(loaded).chunk(Document("long", story(number, 50)))
        first, *others = (len(chunk.ids) for chunk in chunked.chunks)
        assert len(others) > 1
        assert first > 165
        assert sum(others) / len(others) < 160


def test_the_second_pass_reads_sentences_of_all_windows_in_order(loaded: LoadedModel) -> None:
    samples = [(story(number, 2), story(number + 50, 2)) for number in range(9)]
    after, pooled = combined(loaded, story(1, 80), samples)
    (item,), (indices,) = after.chunks, after.indices
    assert 0 < len(item.ids) <= 200
    assert list(indices) == sorted(set(indices))
    before = Chunker(loaded).chunk(Document("long", story(1, 80)))
    assert all(set(inside) & set(indices) for inside in before.indices)
    for number, index in enumerate(indices):
        decoded = loaded.tokenizer.decode(item.ids[item.sentences == number].tolist())
        assert " ".join(decoded.split()) == after.sentences[index].text
    assert pooled.text == generator_of(loaded).generate([item])[0].text


def test_windows_that_tell_what_the_document_is_about_weigh_most(loaded: LoadedModel) -> None:
    about = "This document describes gateways. Gateways drop packets."
    text = f"{story(1, 60)}\n\n{about}\n\n{story(2, 4)}"
    samples = [(f"Hosts {number}.", f"Links {number}.") for number in range(9)]
    count = len(Chunker(loaded).chunk(Document("long", text)).chunks)
    samples[count - 1] = ("Gateways drop packets.",) * 2
    after, pooled = combined(loaded, text, samples)
    texts = [after.sentences[index].text for index in after.indices[0]]
    assert "This document describes gateways." in texts
    pairs = dict(zip(pooled.samples[3:], pooled.weights[3:], strict=True))
    assert list(pairs) == ["Gateways drop packets."]
    assert sum(pooled.weights[:3]) == pytest.approx(1.0)


def test_without_cues_the_first_window_weighs_most(loaded: LoadedModel) -> None:
    samples = [(f"Hosts {number}.",) * 2 for number in range(9)]
    _, pooled = combined(loaded, story(3, 80), samples)
    assert set(pooled.samples[3:]) == {"Hosts 0."}


def test_repeated_sentences_are_read_once(loaded: LoadedModel) -> None:
    text = "\n\n".join(["Hosts send packets to gateways. Gateways drop all packets that are too long."] * 40)
    after, _ = combined(loaded, text, [("Gateways drop packets.",)] * 9)
    assert [after.sentences[index].text for index in after.indices[0]] == [
        "Hosts send packets to gateways.",
        "Gateways drop all packets that are too long.",
    ]


def test_sentences_longer_than_their_share_leave_the_best_window(loaded: LoadedModel) -> None:
    text = "Hosts " + " ".join(story(4, 300).replace(".", "").lower().split()) + "."
    before = Chunker(loaded).chunk(Document("long", text))
    after, pooled = combined(loaded, text, [("Gateways drop packets.",)] * 20)
    assert after.chunks[0].ids.tolist() == before.chunks[0].ids.tolist()
    assert pooled.text


def test_special_tokens_stand_around_the_second_pass(loaded: LoadedModel, tmp_path: Path) -> None:
    taken = replace(loaded, tokenizer=take_over(learn([story(1, 40)], tmp_path / "bart"), tmp_path))
    chunked = Chunker(taken).chunk(Document("long", story(1, 200)))
    read: list[Item] = []

    class Reader:
        special_tokens, source_length = taken.tokenizer.special_tokens, 200

        def generate(self, chunks: list[Item], _: object) -> list[Generated]:
            read.extend(chunks)
            return [Generated("x", -1.0)]

    windows = [Generated("Gateways drop packets.", -1.0)] * len(chunked.chunks)
    combine_windows(chunked, windows, Reader())  # type: ignore[arg-type]
    (item,) = read
    assert (item.ids[0], item.ids[-1]) == (bart.BOS, bart.EOS)
    assert bart.BOS not in item.ids[1:]
    assert bart.EOS not in item.ids[:-1]


@pytest.mark.parametrize("mode", ["abstractive", "extractive", "auto"])
def test_long_documents_have_one_summary_whatever_the_batch(run_folder: Path, mode: str) -> None:
    settings = [f"summarize.mode={mode}", "summarize.samples=2", "summarize.on_overflow=window"]
    loaded = load_model(run_folder, settings)
    documents = [Document(str(number), story(number, 20 + 25 * number)) for number in range(4)]
    together = list(generate_summaries(documents, loaded))
    for document, summary in zip(documents, together, strict=True):
        (alone,) = generate_summaries([document], loaded)
        assert (summary.summary, summary.mode, summary.extraction) == (alone.summary, alone.mode, alone.extraction)
        assert summary.tokens_read == summary.tokens_total


def test_long_documents_obey_a_length(run_folder: Path) -> None:
    loaded = load_model(run_folder, ["summarize.mode=abstractive", "summarize.length=15w"])
    (summary,) = generate_summaries([Document("a", story(2, 90))], loaded)
    assert 14 <= len(summary.summary.split()) <= 16


@pytest.mark.slow
@pytest.mark.parametrize(("batch_tokens", "most"), [(1000, 5), (1_000_000, 64)])
def test_windows_are_read_completely_in_bounded_batches(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, batch_tokens: int, most: int
) -> None:
    settings = ["summarize.mode=abstractive", "summarize.on_overflow=window", f"summarize.batch_tokens={batch_tokens}"]
    loaded = load_model(run_folder, settings)
    document = Document("long", story(5, 1600))
    batches: list[list[Item]] = []
    generate = Generator.generate

    def record(
        generator: Generator,
        chunks: Sequence[Item],
        targets: Sequence[None] = (),
        *,
        needs_search: NeedsSearch | None = None,
        on_drafts: OnDrafts | None = None,
    ) -> list[Generated]:
        batches.append(list(chunks))
        return generate(generator, chunks, targets, needs_search=needs_search, on_drafts=on_drafts)

    monkeypatch.setattr(Generator, "generate", record)
    (summary,) = generate_summaries([document], loaded)
    *windows, second = batches
    assert len(second) == 1
    assert max(map(len, windows)) <= most
    assert sum(map(len, windows)) > 64
    tokens = sorted(token for batch in windows for chunk in batch for token in chunk.ids.tolist())
    assert tokens == sorted(encode_document(document.text, loaded.tokenizer, loaded.splitter).ids.tolist())
    assert summary.tokens_read == summary.tokens_total == len(tokens)


def test_samples_of_both_passes_are_pooled_with_their_weights(loaded: LoadedModel) -> None:
    samples = [(f"Hosts {number}.",) * 2 for number in range(9)]
    after, pooled = combined(loaded, story(3, 80), samples)
    (alone,) = generator_of(loaded).generate(after.chunks)
    assert pooled.samples == (*alone.samples, "Hosts 0.", "Hosts 0.")
    assert pooled.weights[:3] == pytest.approx((1 / 3,) * 3)
    assert 0.5 < sum(pooled.weights[3:]) < 1.0


def test_windows_with_cues_weigh_more_and_most_where_their_summaries_agree_with_them(loaded: LoadedModel) -> None:
    cue = "This memo describes gateways."
    paragraphs = story(3, 80).split("\n\n")
    text = "\n\n".join([*paragraphs[:11], cue, *paragraphs[11:15], cue, *paragraphs[15:]])
    chunked = Chunker(loaded).chunk(Document("long", text))
    cued = [any(chunked.sentences[index].text == cue for index in indices) for indices in chunked.indices]
    assert sum(cued) == 2
    assert not cued[0]
    first, second = (place for place, has_cue in enumerate(cued) if has_cue)
    windows = [Generated("x", -1.0, (f"alpha {number}", f"beta {number}")) for number in range(len(cued))]
    ranked = [[index for index in indices if chunked.sentences[index].text != cue] for indices in chunked.indices]
    weights = window_weights(chunked.sentences, chunked.indices, windows, ranked, str.split)
    others = [weight for weight, has_cue in zip(weights[1:], cued[1:], strict=True) if not has_cue]
    assert weights[first] == pytest.approx(weights[second])
    assert weights[first] > max(others)
    ranked[second].insert(0, next(index for index in chunked.indices[second] if chunked.sentences[index].text == cue))
    weights = window_weights(chunked.sentences, chunked.indices, windows, ranked, str.split)
    assert weights[second] > weights[first]


def test_windows_whose_samples_agree_weigh_more(loaded: LoadedModel) -> None:
    sentences = Chunker(loaded).chunk(Document("long", story(3, 80)))
    windows = [Generated("x", -1.0, (f"alpha {number}", f"beta {number}")) for number in range(len(sentences.chunks))]
    windows[1] = Generated("x", -1.0, ("gamma delta", "gamma delta"))
    ranked = [list(indices) for indices in sentences.indices]
    weights = window_weights(sentences.sentences, sentences.indices, windows, ranked, str.split)
    assert weights.sum() == pytest.approx(1.0)
    assert weights.argmax() == 1
    assert weights[0] > weights[2]
