from pathlib import Path

import pytest

from sumpool.data.config import DataConfig
from sumpool.data.gap_sentences import GapSentencesConfig, principal, take_out
from sumpool.data.sources._base import Example

APPLES = [f"Apples number {number} fall from high trees in autumn nights." for number in ("one", "two")]
ROUTERS = [
    "Routers send packets to other routers over links.",
    "Links between routers lose packets now and then.",
    "Lost packets are sent again by routers over other links.",
    "Hosts know nothing of links that routers have.",
]
TEXT = " ".join([APPLES[0], *ROUTERS, APPLES[1]])


def windows(config: GapSentencesConfig, *documents: Example) -> list[Example]:
    found = list(take_out(iter(documents), config))
    assert all(isinstance(each, Example) for each in found)
    return [each for each in found if isinstance(each, Example)]


def naive_f1(sentence: str, others: list[str]) -> float:
    have, wanted = sentence.lower().rstrip(".").split(), " ".join(others).lower().replace(".", "").split()
    shared = sum(min(have.count(word), wanted.count(word)) for word in set(have))
    return 2 * shared / (len(have) + len(wanted))


def test_the_principal_sentences_are_those_that_agree_with_the_others() -> None:
    sentences = [APPLES[0], *ROUTERS, APPLES[1]]
    agreement = [naive_f1(each, sentences[:place] + sentences[place + 1 :]) for place, each in enumerate(sentences)]
    expected = sorted(range(6), key=lambda place: -agreement[place])
    assert principal(sentences, 1000) == expected
    assert principal(sentences, 1) == expected[:1]
    assert principal(["1. Two.", "Too short."], 60) == []


def test_what_is_taken_out_is_the_summary_in_its_order() -> None:
    [found] = windows(GapSentencesConfig(words=18, window=60), Example("RFC1", TEXT, "not looked at", "validation"))
    assert (found.id, found.split) == ("RFC1#0", "validation")
    taken = [sentence for sentence in [APPLES[0], *ROUTERS, APPLES[1]] if sentence not in found.document]
    assert found.summary == " ".join(taken)
    assert 1 <= len(found.summary.split()) <= 18
    assert sorted((found.document + " " + found.summary).split()) == sorted(TEXT.split())


def test_paragraphs_stay() -> None:
    text = "\n\n".join([APPLES[0], " ".join(ROUTERS), APPLES[1]])
    [found] = windows(GapSentencesConfig(words=10, window=60), Example("RFC1", text, "", "train"))
    assert len(found.document.split("\n")) == 3


def test_a_long_document_teaches_often() -> None:
    config = GapSentencesConfig(words=10, window=40, windows=4)
    found = windows(config, Example("RFC1", " ".join([TEXT] * 10), "", "train"))
    assert [each.id for each in found] == [f"RFC1#{number}" for number in range(4)]


def test_what_has_no_sentences_or_too_few_words_teaches_nothing() -> None:
    assert windows(GapSentencesConfig(), Example("RFC1", TEXT, "", "train")) == []
    assert windows(GapSentencesConfig(), Example("RFC1", "1. Two. " * 500, "", "train")) == []


def test_the_data_section_says_what_is_learnt(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a", "document": "' + TEXT + '", "summary": "s"}\n')
    source = {"kind": "jsonl", "train": tmp_path / "a.jsonl"}
    tree = {"source": source, "gap_sentences": {"words": 10, "window": 40}}
    [row] = DataConfig.model_validate(tree).rows()
    assert isinstance(row, Example)
    assert row.summary != "s"
    with pytest.raises(ValueError, match="must not both be there"):
        DataConfig.model_validate({**tree, "shuffled": {"words": 64}})
