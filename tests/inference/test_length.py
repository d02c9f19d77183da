from dataclasses import replace
from pathlib import Path

import pytest

from sumpool.core.decoding.config import Lengths, LengthTarget
from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from sumpool.inference.summary_choice import length_fault
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story

SPLITTER = SentenceSplitter()


def words(amount: int) -> LengthTarget:
    return LengthTarget(amount, False, amount)


def told(number: int, sentences: int = 40) -> list[str]:
    return [sentence.strip() for sentence in SPLITTER.split(story(number, sentences))]


@pytest.fixture
def loaded(run_folder: Path) -> LoadedModel:
    return load_model(run_folder)


def with_length(loaded: LoadedModel, length: str, mode: str = "abstractive") -> LoadedModel:
    settings = loaded.recipe.summarize.model_copy(update={"length": length, "mode": mode})
    return replace(loaded, recipe=loaded.recipe.model_copy(update={"summarize": settings}))


def test_lengths_are_resolved_for_a_document(loaded: LoadedModel) -> None:
    for length, expected in (
        ("auto", None),
        ("20w", LengthTarget(20, False, 26)),
        ("3s", LengthTarget(3, True, 98)),
        ("long", LengthTarget(40, False, 52)),
    ):
        usual = replace(with_length(loaded, length), lengths=Lengths(10, 50, 26))
        document = Document("a", "word " * 300)
        assert Pipeline.of(usual).read(document).target == expected
        between = replace(usual, lengths=Lengths(12, 40))
        assert Pipeline.of(between).read(document).target == expected


def test_faults_of_written_summaries() -> None:
    text = " ".join(told(2))
    assert length_fault(words(10), text, "a " * 10, SPLITTER) == ""
    assert length_fault(words(10), text, "a " * 12, SPLITTER) == "asked for 10 words, the model wrote 12"
    assert length_fault(words(10), "Hosts send.", "Hosts send.", SPLITTER) == "asked for 10 words, the document has 2"
    two = LengthTarget(2, True, 9)
    assert length_fault(two, text, "Hosts send. Gateways drop.", SPLITTER) == ""
    assert length_fault(two, text, "Hosts send.", SPLITTER) == "asked for 2 sentences, the model wrote 1"


@pytest.mark.parametrize("language", ["en", "ru"])
def test_documents_with_little_prose_say_so(loaded: LoadedModel, language: str) -> None:
    rows = [TextBlock(f"Gateway {number} | drops | packets", "table_row") for number in range(60)]
    prose = told(1, 12)[:3] if language == "en" else russian(1).split("\n\n")[:1]
    document = Document.from_parsed("a", ParsedDocument((TextBlock(" ".join(prose)), *rows)))
    (summary,) = Pipeline.of(with_length(loaded, "90w", "extractive")).summarize([document])
    given = len(summary.text.split())
    assert given < 81
    assert summary.cause.endswith(f"asked for 90 words, whole sentences of prose give {given}")
    (longer,) = Pipeline.of(with_length(loaded, "5s", "extractive")).summarize([document])
    assert "asked for 5 sentences" in longer.cause


def summaries(loaded: LoadedModel, length: str, mode: str) -> list[Summary]:
    documents = [Document(str(number), story(number, 30)) for number in range(3)]
    return list(Pipeline.of(with_length(loaded, length, mode)).summarize(documents))


@pytest.mark.parametrize("mode", ["abstractive", "extractive"])
@pytest.mark.parametrize(("length", "amount"), [("16w", 16), ("120w", 120)])
def test_every_mode_obeys_a_number_of_words(loaded: LoadedModel, mode: str, length: str, amount: int) -> None:
    notes = []
    for summary in summaries(loaded, length, mode):
        assert words(amount).minimum <= len(summary.text.split()) <= words(amount).maximum
        notes.append(summary.cause)
        if mode == "extractive" or amount == 120:
            assert summary.mode == "extractive"
    assert all(notes) or mode != "abstractive" or amount == 16
    expected = amount == 120 and mode != "extractive"
    assert any(note.startswith("asked for 120 words, the model wrote") for note in notes) == expected


@pytest.mark.parametrize("mode", ["abstractive", "extractive"])
def test_every_mode_obeys_a_number_of_sentences(loaded: LoadedModel, mode: str) -> None:
    assert [len(loaded.splitter.split(summary.text)) for summary in summaries(loaded, "3s", mode)] == [3] * 3


@pytest.mark.parametrize("length", ["40w", "4s", "10%"])
@pytest.mark.parametrize("language", ["en", "ru"])
def test_documents_with_blocks_obey_with_and_without_the_model(loaded: LoadedModel, language: str, length: str) -> None:
    texts = [story(number, 40) if language == "en" else russian(number) for number in range(3)]
    paragraphs = [TextBlock(text) for text in "\n\n".join(texts).split("\n\n")]
    document = Document.from_parsed("a", ParsedDocument((TextBlock("Gateways", "heading", 1), *paragraphs)))
    (summary,) = Pipeline.of(with_length(loaded, length, "extractive")).summarize([document])
    assert (summary.tokens_read == 0) == (language == "ru")
    asked = {"40w": 40, "4s": 4, "10%": len(document.text.split()) / 10}[length]
    amount = len(summary.sentences) if length == "4s" else len(summary.text.split())
    assert abs(amount - asked) <= (0 if length == "4s" else 0.1 * asked)


def russian(number: int) -> str:
    """A text in Russian; a paragraph has four sentences."""
    beginnings = [
        "Маршрутизатор передаёт пакеты",
        "Узел ждёт ответа",
        "Каждый шлюз хранит таблицу",
        "Сеть теряет данные",
    ]
    endings = ["между двумя сетями", "от другого узла в той же сети", "если линия занята", "и говорит это соседям"]
    told = [f"{beginnings[place % 4]} {endings[(place + number + place // 4) % 4]}." for place in range(32)]
    return "\n\n".join(" ".join(told[first : first + 4]) for first in range(0, 32, 4))
