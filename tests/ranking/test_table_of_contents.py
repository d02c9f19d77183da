from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sumpool.core.decoding.config import LengthTarget
from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.io.manifest import SHIPPED
from sumpool.ranking import sentence_selector
from sumpool.ranking.features import sentence_features
from sumpool.ranking.fit import common_headings
from sumpool.ranking.ranker import DocumentClassifier, Ranker
from sumpool.ranking.selection import (
    MANY_HEADINGS,
    MIN_HEADINGS,
    contents_line,
    find_candidates,
    listed_sections,
    table_of_contents,
    without_label,
)
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.text.sentences import SentenceSplitter

TOPICS = ("Keys", "Doors", "Windows", "Lamps", "Chairs", "Tables", "Stoves", "Clocks", "Carpets", "Mirrors")


def section(heading: str, level: int = 2) -> list[TextBlock]:
    text = f"The {heading.lower()} of the house are kept by one person who writes a list of them every year."
    return [TextBlock(heading, "heading", level=level), TextBlock(text, "paragraph")]


def house(*blocks: TextBlock) -> tuple[Document, tuple[SourceSentence, ...]]:
    document = Document.from_parsed("-", ParsedDocument((TextBlock("The house", "heading", level=1), *blocks)))
    return document, source_sentences(document, SentenceSplitter("en"))


def headings(*blocks: TextBlock, common: frozenset[str] = frozenset(), empty: str = "no section") -> list[str]:
    document, sentences = house(*blocks)
    worth = {
        index: 1 / (1 + index)
        for index, sentence in enumerate(sentences)
        if sentence.kind == "paragraph" and empty.lower() not in sentence.text
    }
    return [text for _, text in table_of_contents(document, sentences, worth, common, "en")]


def topics(count: int, level: int = 2) -> list[TextBlock]:
    return [block for topic in TOPICS[:count] for block in section(topic, level)]


def test_headings_are_those_of_the_sections() -> None:
    assert headings(*topics(MIN_HEADINGS)) == list(TOPICS[:MIN_HEADINGS])
    assert headings(*topics(MIN_HEADINGS - 1)) == []


def test_title_common_and_repeated_headings_and_sections_without_content_are_left_out() -> None:
    parts = [*section("Part I"), *section("Part II"), *section("Part 3")]
    blocks = [*topics(5), *section("The House"), *section("See also"), *section("Bells"), *parts]
    assert headings(*blocks, common=frozenset(("see also",)), empty="bells") == list(TOPICS[:5])


def test_common_headings_are_those_of_several_documents() -> None:
    documents = [
        house(*section("See also"), *section(f"Part {number} of {topic}")) for number, topic in enumerate(TOPICS)
    ]
    features = [sentence_features(sentences, find_candidates(sentences), "", "en") for _, sentences in documents]
    assert common_headings(features) == {"see also"}
    assert common_headings(features[:3]) == {"see also"}
    assert common_headings(features[:2]) == frozenset()


def test_numbers_and_full_stops_of_headings_are_left_out() -> None:
    blocks = [block for number, topic in enumerate(TOPICS[:4], 1) for block in section(f"{number}.1 {topic}.")]
    assert headings(*blocks) == list(TOPICS[:4])


def test_headings_have_forty_words_at_most() -> None:
    names = [f"{topic} of the old house behind the hill of clay" for topic in TOPICS]
    assert headings(*(block for name in names for block in section(name))) == names[:4]


def test_lower_levels_join_where_the_highest_have_too_few_headings() -> None:
    assert headings(*topics(5, level=2), *section("Details", 3)) == list(TOPICS[:5])
    blocks = [*section("Rooms"), *topics(3, level=3), *section("Walls", 4)]
    assert headings(*blocks) == ["Rooms", *TOPICS[:3]]


def test_lower_sections_are_listed_until_there_are_many() -> None:
    inner = [block for number in range(3) for block in (*section(f"Room {number}"), *topics(2, level=3))]
    assert [listed.level for listed in listed_sections(*house(*inner))] == [1, 2, 2] * 3
    few = [*inner, *topics(10, level=3), *section("Bells", 3)]
    assert len(listed_sections(*house(*few))) == 20
    assert [listed.level for listed in listed_sections(*house(*few, *section("Roofs", 3)))] == [1] * 3


def test_section_is_worth_as_much_as_its_subsections() -> None:
    document, sentences = house(
        TextBlock("Rooms", "heading", level=2), *section("Cellar", 3), *topics(MANY_HEADINGS, level=2)
    )
    worth = {index: 0.1 for index, sentence in enumerate(sentences) if sentence.kind == "paragraph"}
    worth[next(index for index in worth if "cellar" in sentences[index].text)] = 0.9
    chosen = [text for _, text in table_of_contents(document, sentences, worth, frozenset(), "en")]
    assert len(chosen) == MANY_HEADINGS
    assert chosen[0] == "Rooms"


def test_common_heading_before_a_sentence_is_left_out() -> None:
    common = frozenset(("background", "methods"))
    assert without_label("Background: the house is old.", common, "en") == "The house is old."
    for text in ("House: it is old.", "Background:", "Background of the house: it is old.", "The background is dark."):
        assert without_label(text, common, "en") == text


def test_label_and_punctuation_are_those_of_the_language() -> None:
    items = [(3, "Eins"), (5, "Zwei")]
    assert contents_line(items, "de") == [(3, "Inhalt: Eins;"), (5, "Zwei.")]
    assert contents_line(items, "xx") == [(3, "Contents: Eins;"), (5, "Zwei.")]
    assert contents_line(items, "zh") == [(3, "目录：Eins；"), (5, "Zwei。")]  # noqa: RUF001 - Chinese punctuation


@pytest.fixture(scope="module")
def selector() -> SentenceSelector:
    """Return the shipped selector, which takes no document for one of its domain."""
    ranker = Ranker.load(SHIPPED)
    assert ranker.domain
    size = len(ranker.domain.mean)
    domain = DocumentClassifier(np.zeros(size), np.ones(size), np.zeros(size), -1.0)
    return SentenceSelector(replace(ranker, domain=domain))


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every document for one without a sentence that says what it is about."""
    monkeypatch.setattr(sentence_selector, "_MAX_UNWANTED", 9.0)


def select(selector: SentenceSelector, count: int, **options: Any) -> list[str]:  # noqa: ANN401 - of `select`
    document, sentences = house(*topics(count))
    selected = selector.select(selector.candidates(document, sentences, "en"), **options)
    assert all(text.removeprefix("Contents: ").rstrip(";.") in sentences[index].text for index, text in selected)
    return [text for _, text in selected]


def test_table_of_contents_stands_behind_the_sentences(selector: SentenceSelector) -> None:
    *sentences, first, second, third, last = select(selector, 4)
    assert (first, second, third, last) == ("Contents: Keys;", "Doors;", "Windows;", "Lamps.")
    assert len(sentences) > 1


def test_long_table_of_contents_stands_behind_one_sentence(selector: SentenceSelector) -> None:
    sentence, *contents = select(selector, len(TOPICS))
    assert sentence.startswith("The ")
    assert len(contents) == MANY_HEADINGS


def test_sentences_alone_are_selected_for_a_length_and_where_one_is_wanted(
    selector: SentenceSelector, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any("Contents:" in text for text in select(selector, 5, target=LengthTarget(40, False, 0)))
    monkeypatch.setattr(sentence_selector, "_MAX_UNWANTED", -9.0)
    assert not any("Contents:" in text for text in select(selector, 5))
