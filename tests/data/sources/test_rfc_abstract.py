import pytest

from sumpool.data.sources._rfc_abstract import abstract


@pytest.mark.parametrize(
    "added",
    [
        "[STANDARDS-TRACK]",
        "[STANDARDS- TRACK]",
        "[PROPOSED STANDARD]",
        "This memo provides information for the Internet community.",
        "This memo provides information for the Internet community. It does not specify an Internet standard.",
        "This memo defines an Experimental Protocol for the Internet community.",
        "This document defines a Historic Document for the Internet community.",
        "This document specifies an Internet Best Current Practices for the Internet Community, and requests "
        "discussion and suggestions for improvements.",
        "This memo documents an Internet Best Current Practice.",
        "This document is not an Internet Standards Track specification; it is published for informational purposes.",
        "Discussion and suggestions for improvement are requested. Distribution of this memo is unlimited.",
    ],
)
def test_what_the_index_adds_goes(added: str) -> None:
    assert abstract(f"It is about birds.\r\n{added}  ") == "It is about birds."
    assert abstract(added) == ""


def test_an_abstract_is_one_paragraph_with_whole_words() -> None:
    assert abstract("One machine-\r\nreadable line.\r\n\r\nAnother (e.g. this).") == (
        "One machine-readable line. Another (e.g. this)."
    )


def test_sentences_that_only_look_alike_stay() -> None:
    text = "This memo provides guidance. It does not specify a wire format [RFC1]."
    assert abstract(text) == text
