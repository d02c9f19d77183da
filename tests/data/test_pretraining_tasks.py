from pathlib import Path

import pytest

from sumpool.data.config import DataConfig, Example, GapSentencesConfig, Reject, ShuffledConfig
from sumpool.data.prepare import read_rows
from sumpool.data.pretraining_tasks import excerpts, principal_sentences
from sumpool.progress import no_op

APPLES = [f"Apples number {number} fall from high trees in autumn nights." for number in ("one", "two")]
ROUTERS = [
    "Routers send packets to other routers over links.",
    "Links between routers lose packets now and then.",
    "Lost packets are sent again by routers over other links.",
    "Hosts know nothing of links that routers have.",
]
MIXED = [APPLES[0], *ROUTERS, APPLES[1]]
TEXT = " ".join(MIXED)
NUMBERED = [f"Sentence number {number} stands in its place here." for number in range(40)]  # 8 words each
DOCUMENT = Example("RFC1", " ".join(NUMBERED), "not used", "validation")


def cut(config: GapSentencesConfig | ShuffledConfig, *documents: Example) -> list[Example]:
    return [row for row in excerpts(config, documents) if isinstance(row, Example)]


def naive_f1(sentence: str, others: list[str]) -> float:
    words, other_words = (text.lower().replace(".", "").split() for text in (sentence, " ".join(others)))
    shared = sum(min(words.count(word), other_words.count(word)) for word in set(words))
    return 2 * shared / (len(words) + len(other_words))


def test_principal_sentences_have_the_highest_f1_with_the_others() -> None:
    agreement = [naive_f1(sentence, MIXED[:index] + MIXED[index + 1 :]) for index, sentence in enumerate(MIXED)]
    expected = sorted(range(6), key=lambda index: -agreement[index])
    assert principal_sentences(MIXED, 1000) == expected
    assert principal_sentences(MIXED, 1) == expected[:1]
    assert principal_sentences(["1. Two.", "Too short."], 60) == []


def test_gap_sentences_are_the_target_in_source_order() -> None:
    [example] = cut(GapSentencesConfig(words=18, window=60), Example("RFC1", TEXT, "not used", "validation"))
    assert (example.id, example.split) == ("RFC1#0", "validation")
    assert example.summary == " ".join(sentence for sentence in MIXED if sentence not in example.document)
    assert 1 <= len(example.summary.split()) <= 18
    assert sorted((example.document + " " + example.summary).split()) == sorted(TEXT.split())


def test_windows_keep_paragraphs_and_are_bounded_in_number() -> None:
    text = "\n\n".join([APPLES[0], " ".join(ROUTERS), APPLES[1]])
    [example] = cut(GapSentencesConfig(words=10, window=60), Example("RFC1", text, "", "train"))
    assert len(example.document.split("\n")) == 3
    config = GapSentencesConfig(words=10, window=40, windows=4)
    examples = cut(config, Example("RFC1", " ".join([TEXT] * 10), "", "train"))
    assert [example.id for example in examples] == [f"RFC1#{number}" for number in range(4)]


def test_documents_that_are_short_or_lack_sentences_give_no_window() -> None:
    assert cut(GapSentencesConfig(), Example("RFC1", TEXT, "", "train")) == []
    assert cut(GapSentencesConfig(), Example("RFC1", "1. Two. " * 500, "", "train")) == []


def test_passages_are_short_and_their_targets_in_order() -> None:
    examples = cut(ShuffledConfig(words=30, passages=100), DOCUMENT)
    assert " ".join(example.summary for example in examples) == " ".join(NUMBERED[:39])  # one sentence left over
    for number, example in enumerate(examples):
        assert (example.id, example.split) == (f"RFC1#{number}", "validation")
        assert len(example.summary.split()) == 24
        assert sorted(example.document.split()) == sorted(example.summary.split())
    assert any(example.document != example.summary for example in examples)


def test_permutation_depends_on_the_document_only() -> None:
    other = Example("RFC2", DOCUMENT.document, "", "train")
    config = ShuffledConfig()
    alone = cut(config, DOCUMENT)
    assert cut(config, other, DOCUMENT)[-len(alone) :] == alone
    assert [example.document for example in cut(config, other)] != [example.document for example in alone]


def test_passages_are_bounded_in_number_and_contain_sentences_only() -> None:
    examples = cut(ShuffledConfig(words=30, passages=2), DOCUMENT)
    assert [example.id for example in examples] == ["RFC1#0", "RFC1#1"]
    headings = Example("RFC3", "1. Two. " * 50 + " ".join(["word"] * 200) + ".", "", "train")
    assert cut(ShuffledConfig(), headings) == []


def test_rejected_rows_are_passed_on() -> None:
    reject = Reject("file:1", "it must be JSON")
    rows: list[Example | Reject] = [reject, DOCUMENT]
    for task in (GapSentencesConfig(), ShuffledConfig()):
        assert excerpts(task, rows)[0] == reject


def test_data_section_selects_the_task(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a", "document": "' + " ".join(NUMBERED) + '", "summary": "s"}\n')
    tree = {"source": {"kind": "jsonl", "train": tmp_path / "a.jsonl"}}
    [row] = read_rows(DataConfig.model_validate(tree), no_op)
    assert isinstance(row, Example)
    assert row.summary == "s"
    assert len(list(read_rows(DataConfig.model_validate({**tree, "shuffled": {"words": 64}}), no_op))) == 5
    [row] = read_rows(DataConfig.model_validate({**tree, "gap_sentences": {"words": 10, "window": 320}}), no_op)
    assert isinstance(row, Example)
    assert row.summary in NUMBERED
    with pytest.raises(ValueError, match="shuffled and gap_sentences must not both be set, got both"):
        DataConfig.model_validate({**tree, "shuffled": {}, "gap_sentences": {}})
