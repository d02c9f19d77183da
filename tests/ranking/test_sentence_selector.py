# ruff: noqa: RUF001  (letters of other scripts)
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.documents.document import Document, ParsedDocument, TextBlock, TextBlockKind
from sumpool.documents.source_sentences import source_sentences
from sumpool.ranking.candidates import find_candidates
from sumpool.ranking.config import RankingConfig
from sumpool.ranking.fit import fit_ranker
from sumpool.ranking.ranker import Ranker
from sumpool.ranking.sentence_selector import SentenceSelector, _rank_by_rules, _word_budget
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story
from tests.ranking.planted import example

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


def select(document: Document, words: int, ranker: Ranker | None = None) -> list[tuple[int, str]]:
    sentences = source_sentences(document, SentenceSplitter.default())
    return SentenceSelector(ranker).select(document, sentences, "en", words)


def test_the_principal_sentence_is_selected_in_every_language() -> None:
    for language in TEXTS:
        sentences = source_sentences(document(language), SentenceSplitter.for_language(language))
        selected = SentenceSelector().select(document(language), sentences, language, 25)
        assert TEXTS[language][0] in [text for _, text in selected]
        assert all(sentences[index].text == text for index, text in selected)


def test_a_document_without_prose_is_summarised_by_its_beginning() -> None:
    names = [TextBlock(f"Item {number} x y", "list_item") for number in range(40)]
    listed = Document.from_parsed("-", ParsedDocument(tuple(names)))
    assert [index for index, _ in select(listed, 9)] == [0, 1]


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    return fit_ranker([example(seed) for seed in range(30)], RankingConfig(min_documents=2))


@dataclass(frozen=True)
class Sampled:
    text: str
    samples: tuple[str, ...]
    weights: tuple[float, ...] = ()


LONG = Document("a.txt", "\n\n".join(story(number, 8) for number in range(6)))
SENTENCES = source_sentences(LONG, SentenceSplitter.default())


def test_the_abstract_of_the_authors_is_preferred(ranker: Ranker) -> None:
    abstract = "Abstract In this vignette, the weather of the islands is measured with a barometer."
    texts = [*(story(number, 8) for number in range(6)), abstract, story(7, 8)]
    blocks = tuple(TextBlock(text, "paragraph") for text in texts)
    document = Document.from_parsed("-", ParsedDocument(blocks))
    selected = [text for _, text in select(document, 16, ranker)]
    assert abstract.removeprefix("Abstract ") in selected


def test_the_name_line_of_a_manual_page_in_plain_text_is_selected(ranker: Ranker) -> None:
    page = Document(
        "-", "NAME\nship - send packets to a host\n\nDESCRIPTION\n" + "\n\n".join(map(story, range(3), [8] * 3))
    )
    sentences = source_sentences(page, SentenceSplitter.default())
    selector, agreed = SentenceSelector(ranker), sentences[-1].text
    for sampled in (None, Sampled(agreed, (agreed,) * 3)):
        selected = selector.select(page, sentences, "en", 40, sampled)
        assert selected[0][1] == "ship - send packets to a host."


def test_samples_decide_in_a_text_without_structure(ranker: Ranker) -> None:
    agreed = SENTENCES[21].text
    selected = SentenceSelector(ranker).select(LONG, SENTENCES, "en", 40, Sampled(agreed, (agreed,) * 3))
    assert 21 in [index for index, _ in selected]
    assert len(selected) < len(SentenceSelector(ranker).select(LONG, SENTENCES, "en", 40))


def test_samples_of_an_unknown_domain_count_in_texts_without_structure_alone(ranker: Ranker) -> None:
    selector, agreed = SentenceSelector(ranker), SENTENCES[10].text
    sampled = Sampled(agreed, (agreed,) * 3)
    assert selector.select(LONG, SENTENCES, "en", None, sampled) != selector.select(LONG, SENTENCES, "en")
    blocks = tuple(TextBlock(text, "paragraph") for text in LONG.text.split("\n\n"))
    file = Document.from_parsed("a.html", ParsedDocument(blocks))
    assert selector.select(file, SENTENCES, "en", None, sampled) == selector.select(file, SENTENCES, "en")
    assert selector.select(file, SENTENCES, "en", 60, sampled) != selector.select(file, SENTENCES, "en", 60)


def test_a_ranker_selects_within_the_words(ranker: Ranker) -> None:
    for words in [30, 90]:
        selected = SentenceSelector(ranker).select(LONG, SENTENCES, "en", words)
        assert [index for index, _ in selected] == sorted(index for index, _ in selected)
        assert 0.7 * words <= sum(len(text.split()) for _, text in selected) <= 1.1 * words


def test_a_target_goes_before_the_words(ranker: Ranker) -> None:
    selected = SentenceSelector(ranker).select(LONG, SENTENCES, "en", 30, target=LengthTarget(5, True, 99))
    assert len(selected) == 5


def test_rules_rank_where_the_ranker_has_not_learnt(ranker: Ranker) -> None:
    german = document("de")
    sentences = source_sentences(german, SentenceSplitter.for_language("de"))
    by_rules = SentenceSelector().select(german, sentences, "de", 25)
    assert SentenceSelector(ranker).select(german, sentences, "de", 25) == by_rules
    licence = Document("LICENSE", LONG.text, title="Changes")
    by_rules = SentenceSelector().select(licence, SENTENCES, "en", 40)
    assert SentenceSelector(ranker).select(licence, SENTENCES, "en", 40) == by_rules


def test_rules_heed_samples() -> None:
    candidates = find_candidates(LONG, SENTENCES, "en")
    agreed = candidates[9].text
    without = _rank_by_rules(LONG, candidates, "en", "", None)
    gains = _rank_by_rules(LONG, candidates, "en", "", Sampled(agreed, (agreed,) * 3)) - without
    assert gains.argmax() == 9


def test_a_folder_without_a_ranker_ranks_by_rules(tmp_path: Path, ranker: Ranker) -> None:
    assert SentenceSelector.load(tmp_path).ranker is None
    ranker.save(tmp_path)
    loaded = SentenceSelector.load(tmp_path)
    assert loaded.ranker is not None
    assert loaded.select(LONG, SENTENCES, "en", 60) == SentenceSelector(ranker).select(LONG, SENTENCES, "en", 60)


def test_selection_imports_neither_torch_nor_nltk() -> None:
    code = """
import sys
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.ranking.sentence_selector import SentenceSelector
from sumpool.text.sentences import SentenceSplitter
source_sentences(Document("a", "Hosts send packets."), SentenceSplitter.default())
print(sorted({"torch", "nltk", "rouge_score", "sentencepiece", "pydantic"} & set(sys.modules)))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_short_sentences_are_left_out_where_there_are_enough(ranker: Ranker) -> None:
    text = "Hosts send packets.\n\n" + "\n\n".join(story(number, 8) for number in range(6))
    mixed = Document("a.txt", text)
    sentences = source_sentences(mixed, SentenceSplitter.default())
    selected = SentenceSelector(ranker).select(mixed, sentences, "en", 60)
    assert all(len(text.split()) >= 7 for _, text in selected)
    short = Document("a.txt", "Hosts send packets to gateways. " * 9)
    sentences = source_sentences(short, SentenceSplitter.default())
    assert SentenceSelector(ranker).select(short, sentences, "en", 10)


def test_sentences_of_plain_text_are_whole_and_bring_what_they_refer_to() -> None:
    whole = " ".join(f"Tower number {number} tells all of its birds to wait for the bell." for number in range(12))
    fragments = "It rings at noon for all of the birds of the town. The birds of the towers of the town are these:"
    text = Document("a", f"{whole} They sing of it in the towers of the town.\n\n{fragments}")
    for words in (30, 400):
        selected = select(text, words)
        indices = [index for index, _ in selected]
        assert all(sentence.endswith(".") for _, sentence in selected)
        assert all(index - 1 in indices for index, sentence in selected if sentence.startswith(("They", "It")))


def test_files_have_the_same_words_however_short_the_samples_are(ranker: Ranker) -> None:
    blocks = tuple(TextBlock(part) for part in LONG.text.split("\n\n"))
    file = Document.from_parsed("a.txt", ParsedDocument(blocks))
    sentences = source_sentences(file, SentenceSplitter.default())
    sampled = Sampled(sentences[3].text, (sentences[3].text,) * 3)
    selected = SentenceSelector(ranker).select(file, sentences, "en", 60, sampled)
    alone = SentenceSelector(ranker).select(file, sentences, "en", 60)
    assert 30 <= sum(len(text.split()) for _, text in alone) <= 66
    assert selected == alone


def blocks_of(*texts: tuple[TextBlockKind, str], id: str = "-") -> Document:
    return Document.from_parsed(id, ParsedDocument(tuple(TextBlock(text, kind) for kind, text in texts)))


def test_a_file_is_summarised_by_the_sentence_that_says_what_it_is(ranker: Ranker) -> None:
    about = "The composer is a library for the packets of all hosts."
    file = blocks_of(("heading", "Composer"), ("paragraph", about), *(("paragraph", story(n, 8)) for n in range(6)))
    assert [text for _, text in select(file, 90, ranker)] == [about]


def test_the_first_sentence_of_an_abstract_is_preferred() -> None:
    first, second = "Rooks were counted on the islands in two winters.", "Owls were counted in the towers of the town."
    texts: list[tuple[TextBlockKind, str]] = [("paragraph", story(number, 8)) for number in range(6)]
    for start, other in ((first, second), (second, first)):
        paper = blocks_of(*texts, ("heading", "Abstract"), ("paragraph", f"{start} {other}"), ("heading", "A"), *texts)
        assert [text for _, text in select(paper, 9)] == [start]


def test_a_table_of_contents_is_summarised_by_its_title() -> None:
    contents = blocks_of(("notice", "Contents"), ("heading", "The handbook of the host"), ("notice", "1. Gateways"))
    assert select(contents, 90) == [(1, "The handbook of the host")]


def test_the_first_change_of_a_release_names_it() -> None:
    first, *others = (f"fix crash number {number} of the gateway on start" for number in range(3))
    older: list[tuple[TextBlockKind, str]] = [("list_item", text) for text in others]
    news = blocks_of(("heading", "Version 2.1"), ("list_item", first), ("heading", "Version 2.0"), *older, id="NEWS")
    assert [text for _, text in select(news, 90)] == [
        "Version 2.1: Fix crash number 0 of the gateway on start.",
        "Version 2.0: Fix crash number 1 of the gateway on start.",
        "Fix crash number 2 of the gateway on start.",
    ]


def test_a_sentence_with_its_subject_before_it_comes_first() -> None:
    news = "The gateway of the birder sings to all hosts of the network since May."
    named = "Extract the songs of the birds of a tower to all hosts."
    blocks: list[tuple[TextBlockKind, str]] = [("heading", "News"), ("paragraph", news)]
    readme = blocks_of(*blocks, ("heading", "Birder"), ("paragraph", named), id="birder/README.md")
    selected = [text for _, text in select(readme, 90)]
    assert selected == [f"Birder: {named}", news]


def test_licences_have_more_words_and_other_files_no_more_than_a_page() -> None:
    assert _word_budget(60, Document("a", ""), "licence") == 130
    assert _word_budget(200, blocks_of(("paragraph", "A.")), "") == 100
    assert _word_budget(200, Document("a", ""), "") == 200
