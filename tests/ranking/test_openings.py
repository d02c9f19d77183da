from sumpool.documents.document import TextBlockKind
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.openings import (
    describes_term,
    full_stop,
    introduces,
    is_about_part,
    name_line,
    refers_to_document,
)


def test_name_line() -> None:
    for text, language, line in [
        ("mosh - mobile shell with roaming", "en", "mosh - mobile shell with roaming."),
        ("yppasswd, ypchfn - 修改密码", "zh", "yppasswd, ypchfn - 修改密码。"),
        ("iso_8859-16 - набор символов.", "ru", "iso_8859-16 - набор символов."),
        ("CREATE GROUP - make a group", "en", "CREATE GROUP - make a group."),
        ("The network is a tool - and a model", "en", ""),
        ("mosh --option", "en", ""),
        ("mosh - " + "word " * 40, "en", ""),
    ]:
        assert name_line(text, language) == line


def test_first_sentences_introduce_the_document() -> None:
    assert introduces("This is a collection of programs.", 1)
    assert introduces("This is Birder, a tool for birds.", 2)
    assert introduces("This file contains all of the programs.", 2)
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


def test_blocks_describe_the_term_of_the_line_before_them() -> None:
    texts = ("hist(x)", "A histogram of x.", "Its bars are grey.", "The gateway is a machine.", "It waits.")
    kinds: tuple[TextBlockKind, ...] = ("paragraph", "paragraph", "paragraph", "paragraph", "list_item")
    blocks = (0, 1, 1, 2, 3)
    items = zip(texts, blocks, kinds, strict=True)
    sentences = [SourceSentence(text, 0, 0, block, kind) for text, block, kind in items]
    described = [describes_term(sentences, index) for index in range(5)]
    assert described == [False, True, True, False, False]


def test_sentences_about_the_document() -> None:
    for text, language, is_self in [
        ("This manual describes R.", "en", True),
        ("We provide a map.", "en", True),
        ("The main goal of this tutorial is to show gateways.", "en", True),
        ("The purpose of the gateway is to wait.", "en", False),
        ("The gateway waits.", "en", False),
        ("本手册描述主机。", "zh", True),
    ]:
        assert refers_to_document(text, language) is is_self
