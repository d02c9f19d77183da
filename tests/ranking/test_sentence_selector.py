# ruff: noqa: RUF001  (letters of other scripts)
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sumpool.core.decoding.config import LengthTarget
from sumpool.documents.document import Document, ParsedDocument, TextBlock, TextBlockKind
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.io.manifest import SHIPPED
from sumpool.ranking.fit import Fitting, fit_choice, fit_ranker
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.ranking.ranker import DocumentClassifier, Forest, Ranker
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story
from tests.ranking.planted import example, marked

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
    blocks: list[tuple[TextBlockKind, str]] = []
    for copy in range(copies):
        blocks += [("heading", f"{copy + 1}"), ("paragraph", ("" if language == "zh" else " ").join(TEXTS[language]))]
    return blocks_of(*blocks)


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    config = Fitting(min_documents=2)
    fitted = fit_ranker([example(seed) for seed in range(30)], config)
    return fit_choice(fitted, [marked(seed) for seed in range(30)], config)


def selected(
    ranker: Ranker,
    document: Document,
    sentences: Sequence[SourceSentence],
    **length: Any,  # noqa: ANN401 - the arguments of `SentenceSelector.select`
) -> list[tuple[int, str]]:
    selector = SentenceSelector(ranker)
    return selector.select(selector.candidates(document, sentences, "en"), **length)


def with_domain(ranker: Ranker, has_all: bool) -> Ranker:
    """Return a ranker that takes all documents, or none, for those that it has learnt."""
    values = 3 * sum(table.shape[1] for table in ranker.inputs(example(1).features).tables)
    return replace(
        ranker, domain=DocumentClassifier(np.zeros(values), np.ones(values), np.zeros(values), 1.0 if has_all else -1.0)
    )


LONG = Document("a.txt", "\n\n".join(story(number, 8) for number in range(6)))
SENTENCES = source_sentences(LONG, SentenceSplitter())
SAMPLES = (SENTENCES[10].text,) * 3


def blocks_of(*texts: tuple[TextBlockKind, str], id: str = "-") -> Document:
    return Document.from_parsed(id, ParsedDocument(tuple(TextBlock(text, kind) for kind, text in texts)))


FILE = blocks_of(*(("paragraph", text) for text in LONG.text.split("\n\n")), id="a.html")


def test_the_principal_sentence_is_selected_in_every_language() -> None:
    selector = SentenceSelector(Ranker.load(SHIPPED))
    for language in TEXTS:
        sentences = source_sentences(document(language), SentenceSplitter(language))
        selected = selector.select(selector.candidates(document(language), sentences, language), words=25)
        assert TEXTS[language][0] in [text for _, text in selected]
        assert all(sentences[index].text == text for index, text in selected)


def test_a_document_without_prose_is_summarised_by_its_beginning(ranker: Ranker) -> None:
    listed = blocks_of(*(("list_item", f"Item {number}") for number in range(40)))
    sentences = source_sentences(listed, SentenceSplitter())
    assert [index for index, _ in selected(ranker, listed, sentences, words=5)] == [0, 1]


def test_a_table_of_contents_is_summarised_by_its_title(ranker: Ranker) -> None:
    contents = blocks_of(("notice", "Contents"), ("heading", "The handbook of the host"), ("notice", "1. Gateways"))
    sentences = source_sentences(contents, SentenceSplitter())
    assert selected(ranker, contents, sentences) == [(1, "The handbook of the host")]


@pytest.mark.parametrize("file", [LONG, FILE], ids=["row", "file"])
def test_samples_decide_in_the_domain_alone(ranker: Ranker, file: Document) -> None:
    def indices(selector: SentenceSelector, samples: Sequence[str]) -> list[int]:
        return [
            index for index, _ in selector.select(selector.candidates(file, SENTENCES, "en"), words=40, samples=samples)
        ]

    inside, outside = (SentenceSelector(with_domain(ranker, has_all)) for has_all in (True, False))
    assert 10 in indices(inside, SAMPLES)
    assert 10 not in indices(inside, ())
    candidates = inside.candidates(file, SENTENCES, "en")
    assert inside.is_in_domain(candidates)
    assert not outside.is_in_domain(candidates)
    assert SentenceSelector(ranker).is_in_domain(candidates)
    assert not inside.is_in_domain(inside.candidates(Document("a", ""), (), "en"))


def test_the_selection_is_in_order_and_within_the_words(ranker: Ranker) -> None:
    for words in (30, 90):
        for file in (LONG, FILE):
            found = selected(ranker, file, SENTENCES, words=words)
            assert [index for index, _ in found] == sorted(index for index, _ in found)
            assert 0.4 * words <= sum(len(text.split()) for _, text in found) <= 1.4 * words


def test_a_summary_has_at_most_a_hundred_words_where_none_are_asked_for(ranker: Ranker) -> None:
    book = blocks_of(*(("paragraph", story(number, 30)) for number in range(40)))
    sentences = source_sentences(book, SentenceSplitter())
    assert 90 <= sum(len(text.split()) for _, text in selected(ranker, book, sentences)) <= 110


def test_summaries_are_as_long_as_asked_for_on_average(ranker: Ranker) -> None:
    text = Document("-", story(1, 400))
    sentences = source_sentences(text, SentenceSplitter())
    sizes = []
    for amount in range(60, 120, 5):
        target = LengthTarget(amount, False, 99)
        sizes.append(sum(len(part.split()) for _, part in selected(ranker, text, sentences, target=target)) / amount)
    assert np.mean(sizes) == pytest.approx(1.0, abs=0.04)


def test_a_target_goes_before_the_words(ranker: Ranker) -> None:
    for file in (LONG, FILE):
        assert len(selected(ranker, file, SENTENCES, words=30, target=LengthTarget(5, True, 99))) == 5
        target = LengthTarget(80, False, 99)
        found = selected(ranker, file, SENTENCES, samples=SAMPLES, target=target)
        assert target.minimum <= sum(len(text.split()) for _, text in found) <= target.maximum


@pytest.mark.parametrize("is_in_domain", [True, False])
@pytest.mark.parametrize("target", [None, LengthTarget(90, False, 99), LengthTarget(6, True, 99)])
def test_no_sentence_is_selected_twice(ranker: Ranker, is_in_domain: bool, target: LengthTarget | None) -> None:
    text = blocks_of(*(("paragraph", story(1, 3)) for _ in range(8)))
    found = selected(with_domain(ranker, is_in_domain), text, source_sentences(text, SentenceSplitter()), target=target)
    texts = [text for _, text in found]
    assert len(set(texts)) == len(texts)
    assert not target or len(texts) == 3


def test_a_run_without_a_ranker_or_marks_has_the_shipped_ones(tmp_path: Path, ranker: Ranker) -> None:
    shipped = SentenceSelector.load(tmp_path, SHIPPED)
    assert shipped.ranker.to_bytes() == replace(Ranker.load(SHIPPED), domain=None).to_bytes()
    (tmp_path / RANKER).write_bytes(replace(ranker, choice=None).to_bytes())
    own = SentenceSelector.load(tmp_path, SHIPPED)
    assert own.ranker.to_bytes() == replace(ranker, choice=None).to_bytes()
    assert own.readers.choice is not None
    assert own.select(own.candidates(FILE, SENTENCES, "en"), words=60)
    (tmp_path / RANKER).write_bytes(ranker.to_bytes())
    marked_run = SentenceSelector.load(tmp_path, SHIPPED)
    assert marked_run.readers is marked_run.ranker


def test_every_forest_is_evaluated_once(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    selectors = [SentenceSelector(with_domain(ranker, has_all)) for has_all in (True, False)]
    evaluated: list[Forest] = []
    predict = Forest.predict

    def record(forest: Forest, *tables: NDArray[np.float32]) -> NDArray[np.float64]:
        evaluated.append(forest)
        return predict(forest, *tables)

    monkeypatch.setattr(Forest, "predict", record)
    for selector in selectors:
        candidates = selector.candidates(LONG, SENTENCES, "en")
        selector.is_in_domain(candidates)
        assert selector.select(candidates)
        assert len(evaluated) == len({id(forest) for forest in evaluated}) == 4
        evaluated.clear()


def test_marks_of_lists_and_citations_are_no_part_of_a_sentence(ranker: Ranker) -> None:
    text = "- The composer is a library for the packets [2,3] of all hosts [7]."
    file = blocks_of(("heading", "Composer"), ("paragraph", text), ("heading", "B"), ("paragraph", story(1, 3)))
    sentences = source_sentences(file, SentenceSplitter())
    found = dict(selected(ranker, file, sentences, target=LengthTarget(9, True, 99)))
    assert found[1] == "The composer is a library for the packets of all hosts."


def test_connective_stays_with_the_sentence_that_it_refers_to(ranker: Ranker) -> None:
    chosen = SentenceSelector(with_domain(ranker, has_all=False))
    texts = ("The packet goes to the router.", "However, the channel keeps its buffer for the signal in the window.")
    target = LengthTarget(2, in_sentences=True, tokens=0)
    for first, expected in ((texts[0], texts), ("So it is.", ("The" + texts[1].removeprefix("However, the"),))):
        text = Document("a", f"{first} {texts[1]}")
        candidates = chosen.candidates(text, source_sentences(text, SentenceSplitter("en")), "en")
        assert tuple(part for _, part in chosen.select(candidates, target=target)) == expected
