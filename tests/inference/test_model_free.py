# ruff: noqa: RUF001  (letters of other scripts)
from pathlib import Path

import pytest

from sumpool.documents.document import Document, ParsedDocument, TextBlock, TextBlockKind
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.loading import load_for_generation
from sumpool.inference.model_free import select_sentences
from sumpool.inference.summaries import generate_summaries
from sumpool.inference.summary import Summary
from sumpool.text.sentences import SentenceSplitter

TEXTS = {
    "de": (
        "Dieses Handbuch beschreibt, wie ein Rechner Pakete an das Gateway sendet.",
        "Das Gateway leitet die Pakete an den Rechner weiter, für den sie bestimmt sind.",
        "Im Garten fallen die Äpfel von den Bäumen, und die Leute singen dazu ein altes Lied.",
        "Der Rechner wartet auf die Antwort, die mit dem nächsten Paket vom Gateway kommt.",
    ),
    "ru": (
        "В этом руководстве описано, как узел посылает пакеты на шлюз.",
        "Шлюз передаёт пакеты тому узлу, для которого они предназначены.",
        "В саду яблоки падают с деревьев, и люди поют при этом старую песню.",
        "Узел ждёт ответа, который приходит со следующим пакетом от шлюза.",
    ),
    "zh": (
        "本手册描述主机如何向网关发送数据包。",
        "网关把数据包转发给目的主机。",
        "花园里的苹果从树上掉下来，人们唱着古老的歌。",
        "主机等待网关随下一个数据包发来的应答。",
    ),
}


def document(language: str, copies: int = 3) -> Document:
    blocks: list[TextBlock] = []
    for copy in range(copies):
        kind: TextBlockKind = "paragraph"
        separator = "" if language == "zh" else " "
        blocks += [TextBlock(f"{copy + 1}", "heading"), TextBlock(separator.join(TEXTS[language]), kind)]
    return Document.from_parsed("-", ParsedDocument(tuple(blocks)))


@pytest.fixture(scope="module")
def summaries(run_folder: Path) -> dict[str, Summary]:
    loaded = load_for_generation(run_folder, ["summarize.mode=auto", "summarize.samples=2", "summarize.length=30w"])
    texts = [document(language, 6) for language in TEXTS]
    return dict(zip(TEXTS, generate_summaries(texts, loaded), strict=True))


@pytest.mark.parametrize("language", TEXTS)
def test_the_principal_sentence_is_selected_in_every_language(language: str) -> None:
    sentences = source_sentences(document(language), SentenceSplitter.for_language(language))
    selected = select_sentences(document(language), sentences, language, 25)
    assert TEXTS[language][0] in [text for _, text in selected]
    assert all(sentences[index].text == text for index, text in selected)


@pytest.mark.parametrize(("language", "name"), [("de", "German"), ("ru", "Russian"), ("zh", "Chinese")])
def test_texts_in_other_languages_are_summarised_without_the_model(
    summaries: dict[str, Summary], language: str, name: str
) -> None:
    summary = summaries[language]
    assert (summary.mode, summary.language, summary.tokens_read) == ("extractive", language, 0)
    assert summary.extraction.cause == f"this text is in {name}, the model has learnt English"
    assert TEXTS[language][0] in summary.summary
    assert [summary.source[index].text for index in summary.extraction.indices] == list(summary.sentences)
    assert (" " in summary.summary) == (language != "zh")


def test_a_writing_model_is_kept_if_asked_for_and_the_language_is_said(run_folder: Path) -> None:
    loaded = load_for_generation(run_folder, ["summarize.mode=abstractive"])
    notes: list[str] = []
    summary, *_ = generate_summaries([document("ru")], loaded, report=lambda progress: notes.append(progress.note))
    assert summary.mode == "abstractive"
    assert "-: this text is in Russian, the model has learnt English" in notes


def test_a_document_without_prose_is_summarised_by_its_beginning() -> None:
    names = [TextBlock(f"Item {number} x y", "list_item") for number in range(40)]
    listed = Document.from_parsed("-", ParsedDocument(tuple(names)))
    selected = select_sentences(listed, source_sentences(listed, SentenceSplitter.default()), "en", 9)
    assert [index for index, _ in selected] == [0, 1]


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize("mode", ["auto", "extractive"])
def test_a_text_shorter_than_its_summary_comes_back_unchanged(run_folder: Path, blocks: bool, mode: str) -> None:
    text = f"{'Is the budget ready? ' if blocks else ''}The committee met on Tuesday."
    parsed = Document.from_parsed("-", ParsedDocument((TextBlock("Minutes", "heading"), TextBlock(text))))
    loaded = load_for_generation(run_folder, [f"summarize.mode={mode}", "summarize.samples=2"])
    summary, *_ = generate_summaries([parsed if blocks else Document("-", text)], loaded)
    assert (summary.summary, summary.mode) == (text, "extractive")


def test_what_the_model_cannot_say_is_selected(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_for_generation(run_folder, ["summarize.mode=auto", "summarize.samples=2"])
    monkeypatch.setattr("sumpool.inference.generation.Generator._decode", lambda *_: "")
    text = "The host sends a packet to the gateway. Apples fall from all of the trees. " * 9
    summary, *_ = generate_summaries([Document("-", text)], loaded)
    assert summary.extraction.cause == "the model generated no word"
    assert "The host sends a packet to the gateway." in summary.summary
    assert summary.reason == ""


def test_whole_sentences_of_structured_documents_are_preferred(run_folder: Path) -> None:
    overrides = [
        "summarize.mode=auto",
        "summarize.samples=2",
        "summarize.keep_threshold=0",
        "summarize.ood_threshold=0",
    ]
    loaded = load_for_generation(run_folder, overrides)
    text = "The host sends a packet to the gateway. Apples fall from all of the trees in it. " * 9
    parsed = Document.from_parsed("-", ParsedDocument((TextBlock(text.strip()),)))
    summary, *_ = generate_summaries([parsed], loaded)
    assert summary.mode == "extractive"
