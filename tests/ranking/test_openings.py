import pytest

from sumpool.ranking.openings import full_stop, introduces, is_about_part, name_line


@pytest.mark.parametrize(
    ("text", "language", "line"),
    [
        ("mosh - mobile shell with roaming", "en", "mosh - mobile shell with roaming."),
        ("yppasswd, ypchfn - 修改密码", "zh", "yppasswd, ypchfn - 修改密码。"),
        ("iso_8859-16 - набор символов.", "ru", "iso_8859-16 - набор символов."),
        ("The network is a tool - and a model", "en", ""),
        ("mosh --option", "en", ""),
        ("mosh - " + "word " * 40, "en", ""),
    ],
)
def test_name_line(text: str, language: str, line: str) -> None:
    assert name_line(text, language) == line


def test_first_sentences_introduce_the_document() -> None:
    assert introduces("This is a collection of programs.", 1)
    assert introduces("Hier werden Werkzeuge beschrieben.", 3)
    assert not introduces("This is a collection of programs.", 4)
    assert not introduces("This fails.", 1)


def test_this_package_is_the_subject_of_a_document_only_in_its_beginning() -> None:
    assert is_about_part("This module deals with strings.", 21)
    assert not is_about_part("This module deals with strings.", 20)
    assert not is_about_part("This manual deals with strings.", 21)


def test_full_stop() -> None:
    assert full_stop("ja") == "。"
    assert full_stop("de") == "."
