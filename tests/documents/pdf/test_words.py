import pytest

from sumpool.documents.pdf.words import Vocabulary


@pytest.mark.parametrize(
    ("context", "lines", "joined"),
    [
        ("", ["a docu-", "ment of"], "a document of"),
        ("a well, known house", ["a well-", "known house"], "a well-known house"),
        ("a wellknown house, well, known", ["a well-", "known house"], "a wellknown house"),
        ("the self-made boat", ["a self-", "made boat"], "a self-made boat"),
        ("", ["the UTF-", "8 file"], "the UTF-8 file"),
        ("", ["the Anna-", "Berta house"], "the Anna-Berta house"),
        ("", ["an e-", "mail"], "an e-mail"),
        ("", ["Vor-", "und Nachteile"], "Vor- und Nachteile"),
        ("", ["soft hy\u00ad", "phens and\u00admore"], "soft hyphens andmore"),
        ("", ["see https://example.org/a/", "b.html here"], "see https://example.org/a/b.html here"),
        ("", ["see https://example.org.", "Then go"], "see https://example.org. Then go"),
        ("", ["GNU/-", "Linux"], "GNU/Linux"),
        ("", ["图应编排", "序号"], "图应编排序号"),
        ("", ["", "one", "", "two"], "one  two"),
    ],
)
def test_lines_are_joined(context: str, lines: list[str], joined: str) -> None:
    assert " ".join(Vocabulary([context, *lines]).join(lines).split()) == " ".join(joined.split())


def test_divided_words_are_not_counted() -> None:
    counts = Vocabulary(["one docu-", "ment two-part"]).counts
    assert counts == {"one": 1, "two-part": 1, "two": 1, "part": 1}
