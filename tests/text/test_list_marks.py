from sumpool.text.list_marks import is_list_mark, list_letters, list_mark


def test_marks_have_a_length() -> None:
    for mark in (
        "- ",
        "\u2022 ",
        "o ",
        "1. ",
        "12) ",
        "(a) ",
        "iv. ",
        "2.1 ",
        "2.1.3.  ",
        "[7] ",
        "\u2460 ",
        "(B) ",
        "B) ",
    ):
        assert list_mark(f"{mark}The owl hoots.") == len(mark), mark
    assert list_mark("\u4e00\u3001\u732b") == 2


def test_quantities_versions_and_initials_are_no_marks() -> None:
    for text in (
        "3.5 million owls hoot.",
        "2.28 (2023-01-16):",
        "M. Dupont waits.",
        "-1 is a number",
        "a dog",
        "1.",
        "- ",
    ):
        assert not list_mark(text), text


def test_capitals_are_marks_where_the_text_counts_with_them() -> None:
    letters = list_letters(["A. One", "  B. Two", "D. Four", "text"])
    assert letters == {"A", "B"}
    assert list_mark("B. Two", letters) == 3
    assert not list_mark("D. Four", letters)
    assert not list_letters(["A. Only one"])


def test_a_mark_may_stand_alone() -> None:
    assert all(map(is_list_mark, ("1.", "A.", "(ii)", "-", "2.1.")))
    assert not any(map(is_list_mark, ("1. One", "Inc.", "")))
