from pathlib import Path

import pytest

from sumpool.data.config import DataConfig
from sumpool.data.shuffled import ShuffledConfig, shuffle
from sumpool.data.sources._base import Example

SENTENCES = [f"Sentence number {number} stands in its place here." for number in range(40)]  # 8 words each
DOCUMENT = Example("RFC1", " ".join(SENTENCES), "not looked at", "validation")


def passages(config: ShuffledConfig, *documents: Example) -> list[Example]:
    found = list(shuffle(iter(documents), config))
    assert all(isinstance(each, Example) for each in found)
    return [each for each in found if isinstance(each, Example)]


def test_passages_are_short_whole_and_in_order_as_summaries() -> None:
    found = passages(ShuffledConfig(words=30, passages=100), DOCUMENT)
    assert " ".join(each.summary for each in found) == " ".join(SENTENCES[:39])  # one is left over: too few to shuffle
    for number, each in enumerate(found):
        assert (each.id, each.split) == (f"RFC1#{number}", "validation")
        assert len(each.summary.split()) == 24
        assert sorted(each.document.split()) == sorted(each.summary.split())
    assert any(each.document != each.summary for each in found)


def test_the_same_document_gives_the_same_disorder_whatever_stands_beside_it() -> None:
    other = Example("RFC2", DOCUMENT.document, "", "train")
    config = ShuffledConfig()
    alone = passages(config, DOCUMENT)
    assert passages(config, other, DOCUMENT)[-len(alone) :] == alone
    assert [each.document for each in passages(config, other)] != [each.document for each in alone]


def test_only_the_first_passages_and_only_sentences_are_taken() -> None:
    assert [each.id for each in passages(ShuffledConfig(words=30, passages=2), DOCUMENT)] == ["RFC1#0", "RFC1#1"]
    headings = Example("RFC3", "1. Two. " * 50 + " ".join(["word"] * 200) + ".", "", "train")
    assert passages(ShuffledConfig(), headings) == []


def test_the_data_section_says_what_is_learnt(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a", "document": "' + " ".join(SENTENCES) + '", "summary": "s"}\n')
    tree = {"source": {"kind": "jsonl", "train": tmp_path / "a.jsonl"}, "shuffled": {"words": 64}}
    assert len(list(DataConfig.model_validate(tree).rows())) == 5
    assert len(list(DataConfig.model_validate({**tree, "shuffled": None}).rows())) == 1
    with pytest.raises(ValueError, match="greater than or equal to 10"):
        DataConfig.model_validate({**tree, "shuffled": {"words": 3}})
