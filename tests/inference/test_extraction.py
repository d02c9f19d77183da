import tarfile
from pathlib import Path

import pytest

from sumpool.core.decoding.config import LengthTarget
from sumpool.data import sample
from sumpool.documents.document import Document, TextBlock
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import source_sentences
from sumpool.inference.extraction import Extraction, extract, selection_fault
from sumpool.inference.loading import load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.inference.summary import Summary
from sumpool.io.manifest import SHIPPED
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.text.sentences import SentenceSplitter
from tests.documents.test_source_sentences import parsed
from tests.ranking.test_sentence_selector import TEXTS, document

ROOT = Path(__file__).parents[2]
SELECTOR = SentenceSelector.load(SHIPPED, SHIPPED)


def extraction_of(document: Document, target: LengthTarget | None = None) -> Extraction:
    sentences = source_sentences(document, SentenceSplitter())
    return extract(SELECTOR.candidates(document, sentences, "en"), SELECTOR, target)


def words(amount: int) -> LengthTarget:
    return LengthTarget(amount, False, amount)


def test_faults_of_selections() -> None:
    assert selection_fault(words(4), ["Hosts send.", "Gateways drop."]) == ""
    assert selection_fault(words(9), ["Hosts send."]) == "asked for 9 words, whole sentences of prose give 2"
    assert selection_fault(words(1), ["Hosts send."]) == "asked for 1 word, whole sentences of prose give 2"
    assert selection_fault(LengthTarget(1, True, 9), ["Hosts send."]) == ""


def test_a_text_shorter_than_its_summary_is_whole() -> None:
    text = TextBlock("Do hosts send packets to gateways? Gateways drop packets that are too long.")
    document = parsed(TextBlock("Minutes", "heading"), text)
    extraction = extraction_of(document)
    assert " ".join(text for _, text in extraction.selected) == text.text
    assert extraction.cause == "the text is not longer than a summary"
    short = extraction_of(document, LengthTarget(1, True, 9))
    assert len(short.selected) == 1
    assert short.cause == ""


def test_a_beginning_in_another_language_is_left_out() -> None:
    pipeline = Pipeline.open(RunFiles.open(SHIPPED, ["summarize.fast=true"]))
    letter, policy = document("de").text, (ROOT / "SECURITY.md").read_text()
    mixed, alone = pipeline.summarize([Document("a", f"{letter}\n\n{policy}"), Document("b", policy)])
    assert mixed.notes == (f"{len(letter.split())} words in German at the beginning left out",)
    assert not any(sentence.text in letter for sentence in mixed.sentences)
    assert not alone.notes


@pytest.mark.slow
def test_what_the_model_cannot_improve_is_extracted_without_it(tmp_path: Path) -> None:
    pipeline = Pipeline.open(RunFiles.open(SHIPPED))
    loaded: list[bool] = []
    pipeline.load = lambda: loaded.append(True) or load_for_generation(SHIPPED)  # type: ignore[func-returns-value]
    texts = (
        (document("de"), "this text is in German, the model has learnt English"),
        (Document("a", (ROOT / "SECURITY.md").read_text()), ""),
        (Document("a", "The host sends a packet to the gateway."), "the text is not longer than a summary"),
    )
    for text, cause in texts:
        (summary,) = pipeline.summarize([text])
        assert summary.cause == cause
        assert summary.sentences
    assert not loaded
    with tarfile.open(Path(sample.__file__).with_name("rfc.tar.xz"), "r:xz") as archive:
        member = archive.getmember("rfc9336.txt")
        content = archive.extractfile(member)
        assert content
        (tmp_path / "rfc.txt").write_bytes(content.read())
    (rfc,) = read_documents(str(tmp_path / "rfc.txt"))
    (summary,) = pipeline.summarize([rfc])
    assert loaded == [True]
    assert summary.tokens_read


def test_a_length_is_resolved_without_the_model() -> None:
    pipeline = Pipeline.open(RunFiles.open(SHIPPED, ["summarize.length=3s"]))
    pipeline.load = None  # type: ignore[assignment]  # fails if it is called
    (summary,) = pipeline.summarize([document("ru", 6)])
    assert len(summary.sentences) == 3


@pytest.fixture(scope="module")
def summaries(run_folder: Path) -> dict[str, Summary]:
    loaded = load_for_generation(
        run_folder, ["summarize.mode=extractive", "summarize.samples=2", "summarize.length=30w"]
    )
    texts = [document(language, 6) for language in TEXTS]
    return dict(zip(TEXTS, Pipeline.of(loaded).summarize(texts), strict=True))


@pytest.mark.parametrize(("language", "name"), [("de", "German"), ("ru", "Russian"), ("zh", "Chinese")])
def test_texts_in_other_languages_need_no_model(summaries: dict[str, Summary], language: str, name: str) -> None:
    summary = summaries[language]
    assert (summary.mode, summary.language, summary.tokens_read) == ("extractive", language, 0)
    assert summary.cause == f"this text is in {name}, the model has learnt English"
    assert {sentence.text for sentence in summary.sentences} <= set(TEXTS[language])
    assert [summary.source[index].text for index in summary.indices] == [shown.text for shown in summary.sentences]
    assert (" " in summary.text) == (language != "zh")


def test_a_writing_model_is_kept_if_asked_for_and_the_language_is_said(run_folder: Path) -> None:
    loaded = load_for_generation(run_folder, ["summarize.mode=abstractive"])
    notes: list[str] = []
    summary, *_ = Pipeline.of(loaded).summarize([document("ru")], report=lambda progress: notes.append(progress.note))
    assert summary.mode == "abstractive"
    assert "-: this text is in Russian, the model has learnt English" in notes


def test_lines_without_punctuation_are_closed_where_others_follow() -> None:
    lines = ("I send you the bills of the goods", "The host removed them", "Jo Doe")
    assert [text for _, text in extraction_of(parsed(*map(TextBlock, lines))).selected] == [
        f"{lines[0]}.",
        f"{lines[1]}.",
        "Jo Doe",
    ]


def test_clauses_of_a_transcript_are_marked_where_others_are_left_out() -> None:
    text = (
        "so we met at the town hall on a cold morning in March and the keeper of the lighthouse had brought his plans "
        "of the new lamp we asked him what it would cost and he said that nobody had made an offer yet the harbour "
        "office wants to wait for the summer because the ships are few then but they have to be warned all the same "
        "I think it is better to borrow the lamp of the old mole for the time of the repairs which is bright enough "
        "and can be carried by two men we should also tell the fishers about it before they read it in the paper "
        "they were angry the last time when the buoys had been moved in the night and none of them had known of it"
    )
    further = ("Nobody came to the second meeting of the month", "The lamp is new.")
    transcript = parsed(*map(TextBlock, (text, *further)))
    sentences = source_sentences(transcript, SentenceSplitter())
    selected = extraction_of(transcript, LengthTarget(60, False, 60)).selected
    marks = [shown.removeprefix(sentences[index].text.removesuffix(".")) for index, shown in selected]
    assert "\u2026" in marks
    indices = [index for index, _ in selected]
    for mark, index, following in zip(marks, indices, (*indices[1:], None), strict=True):
        goes_on = index + 1 < len(sentences) and sentences[index + 1].block == sentences[index].block
        ends = "" if following is None and sentences[index].text[-1] != "." else "."
        assert mark == ("" if goes_on and following == index + 1 else "\u2026" if goes_on else ends)
