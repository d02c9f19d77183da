import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sumpool.core.decoding.config import LengthTarget
from sumpool.data.shards import Item
from sumpool.documents.document import Document
from sumpool.inference.generation import Generated, Generator, OnDrafts
from sumpool.inference.loading import load_for_generation, load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from tests.conftest import story


def test_a_stream_is_not_read_to_its_end_first(run_folder: Path) -> None:
    taken = 0

    def endless() -> Iterator[Document]:
        nonlocal taken
        while True:
            taken += 1
            yield Document(str(taken), story(taken % 7, 4))

    loaded = load_model(run_folder, ["summarize.batch_tokens=200"])
    summaries = Pipeline.of(loaded).summarize(endless())
    assert [next(summaries).id for _ in range(3)] == ["1", "2", "3"]
    assert taken < 100


def test_the_lock_is_free_while_documents_are_read(run_folder: Path) -> None:
    lock = threading.Lock()
    held: list[bool] = []

    def documents() -> Iterator[Document]:
        for number in range(3):
            held.append(lock.locked())
            yield Document(str(number), story(number, 4))

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
    assert all(sentence in document.text for document, summary in pairs for sentence in summary.extraction.sentences)
    assert all(summary.summary for summary in checked)


@pytest.mark.parametrize(("precision", "most"), [("int8", 4), ("bf16", 1), ("fp32", 1)])
def test_documents_are_batched_where_their_mates_change_no_sum(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, precision: str, most: int
) -> None:
    sizes, generate = [], Generator.generate

    def counting(
        generator: Generator, chunks: Sequence[Item], targets: Sequence[LengthTarget | None], on_drafts: OnDrafts | None
    ) -> list[Generated]:
        sizes.append(len(chunks))
        return generate(generator, chunks, targets, on_drafts)

    monkeypatch.setattr(Generator, "generate", counting)
    documents = [Document(str(number), story(number, 2 + 3 * number)) for number in range(4)]
    loaded = load_for_generation(run_folder, [f"summarize.precision={precision}", "summarize.mbr=true"])
    pipeline = Pipeline.of(loaded)
    first, last = (
        [(summary.id, summary.summary, summary.score) for summary in pipeline.summarize(order)]
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
    assert (copied.extraction.indices, copied.extraction.cause) == ((0, 2), "the model copied whole sentences")
    assert summary("Gateways drop plums. Hosts send packets.").mode == "abstractive"
    assert summary("").mode == "extractive"
    assert summary("").extraction.cause == "no generated sentence is founded in the document"


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
    assert written.summary == summary
    assert " ".join(written.sentences) == summary


@pytest.mark.parametrize("mode", ["abstractive", "extractive"])
def test_summaries_say_what_they_are(run_folder: Path, mode: str) -> None:
    told = [Document(str(number), story(number, 24)) for number in range(5)]
    pipeline = Pipeline.of(load_model(run_folder, [f"summarize.mode={mode}"]))
    for document, summary in zip(told, pipeline.summarize(told), strict=True):
        assert summary.mode == mode
        assert bool(summary.extraction.sentences) == (mode == "extractive")
        assert (summary.score is None) == (mode == "extractive")
        if mode == "extractive":
            assert all(sentence in " ".join(document.text.split()) for sentence in summary.sentences)


def test_sampled_summaries_guide_the_choice_where_the_model_has_learnt_such_documents(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Document("text", story(3, 60))
    loaded = load_model(run_folder, ["summarize.mode=extractive"])
    wanted = loaded.splitter.split(document.text)[40:42]

    def summary(*samples: str) -> Summary:
        monkeypatch.setattr(
            Generator, "generate", lambda _, chunks, *__: [Generated("", None, samples) for _ in chunks]
        )
        (selected,) = Pipeline.of(loaded).summarize([document])
        return selected

    assert set(summary(*[" ".join(wanted)] * 3).sentences) & set(wanted)
    assert not set(summary("Plums fall.").sentences) & set(wanted)
