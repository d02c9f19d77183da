from collections.abc import Iterator

from sumpool.data.excerpts import excerpts
from sumpool.data.sources._base import Example, Reject


def pairs(name: str, sentences: list[str]) -> Iterator[tuple[str, str]]:
    """Give every sentence and the name of its document."""
    yield from ((sentence.strip(), name) for sentence in sentences)


def test_the_first_excerpts_are_named_after_their_document_and_a_bad_row_stays_one() -> None:
    bad = Reject("file:1", "it must be JSON")
    rows: list[Example | Reject] = [Example("RFC1", "One. Two. Three.", "", "test"), bad]
    assert list(excerpts(iter(rows), pairs, 2)) == [
        Example("RFC1#0", "One.", "RFC1", "test"),
        Example("RFC1#1", "Two.", "RFC1", "test"),
        bad,
    ]
