import pytest

from sumpool.data.sources._base import Example
from sumpool.runs.training_report import alarms, examine

DOCUMENT = "One two three four five six seven eight nine ten eleven twelve. Thirteen fourteen fifteen."
PASSAGE = "two three four five six seven eight nine ten eleven twelve"
REFERENCE = "The numbers one to fifteen in a row of words, written out in full."


def faults(summary: str, reference: str = REFERENCE) -> list[str]:
    return examine(Example("d1", DOCUMENT, reference, "validation"), summary).faults


def test_a_usual_summary_has_no_faults() -> None:
    assert faults("This document counts one two three and so on up to fifteen, in words.") == []
    assert faults("two three four") == []  # too short to be told from chance


@pytest.mark.parametrize("summary", ["", " \n"])
def test_an_empty_summary(summary: str) -> None:
    assert faults(summary) == ["are empty"]


def test_a_repetition() -> None:
    assert faults("the one is the one is the one is the one is") == [
        "repeat themselves: more than 20% of their trigrams occur twice"
    ]


def test_a_copied_passage() -> None:
    assert faults(PASSAGE) == ["are one passage of the document, copied whole, unlike the references"]
    assert faults(PASSAGE, reference=PASSAGE) == []  # what the model is to learn
    assert faults(f"{PASSAGE} is how it begins and goes on") == []


def test_an_alarm_needs_half_of_the_summaries() -> None:
    example = Example("d1", DOCUMENT, REFERENCE, "validation")
    bad, good = examine(example, ""), examine(example, "Numbers in words.")
    assert list(alarms([bad, good])) == ["warning: 1 of 2 generated summaries are empty"]
    assert list(alarms([bad, good, good])) == []
    assert list(alarms([])) == []


def test_record_of_a_sample() -> None:
    record = examine(Example("d1", DOCUMENT, REFERENCE, "validation"), PASSAGE).to_record()
    assert record == {"id": "d1", "summary": PASSAGE, "repeated": 0.0, "copied": 1.0, "novel_bigrams": 0.0}
