import pytest

from sumpool.text.references import goes_on, refers_to_omitted


@pytest.mark.parametrize(
    "sentence",
    [
        "We saw that commits have names like this.",
        "The classes share the following functions.",
        "The lower left diagram depicts a classic analysis.",
        "The exceptions are noted below, and the others are not.",
        "The rewrite of this tutorial is available as a guide.",
        "This document was originally written in YODL.",
        "The steps are as follows.",
        "This module handles the two other cases.",
    ],
)
def test_lists_figures_and_editions_are_left_out_of_a_summary(sentence: str) -> None:
    assert refers_to_omitted(sentence)


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Das zeigt die folgende Tabelle.", "de"),
        ("Mit diesen beiden Schaltflächen wird der Ausschnitt gewählt.", "de"),
        ("Символы показаны в следующей таблице.", "ru"),
        ("下表列出所有选项。", "zh"),
        ("Les options suivantes sont connues.", "fr"),
        ("以下の表を見る。", "ja"),
        ("Las opciones siguientes son conocidas.", "es"),
    ],
)
def test_references_of_other_languages(sentence: str, language: str) -> None:
    assert refers_to_omitted(sentence, language)
    assert not refers_to_omitted(sentence, "it")


@pytest.mark.parametrize(
    "sentence",
    [
        "This manual describes the gateway.",
        "This section contains an overview of the tools.",
        "The gateway sends packets, such as those of the host.",
        "The gateway forwards packets to the other hosts.",
    ],
)
def test_whole_sentences_refer_to_nothing(sentence: str) -> None:
    assert not refers_to_omitted(sentence)
    assert not goes_on(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The easiest way to do this is a credential helper.",
        "For public libraries, these files should not be included.",
        "By contrast, the licence guarantees freedom.",
        "Stattdessen werden die Kinder abgelegt.",
        "As a result the packet is lost.",
        "The host uses such gateways.",
        "Except for the last two, they are fields of the file.",
        "Use it for the packets of the host.",
    ],
)
def test_connectives_and_demonstratives_go_on(sentence: str) -> None:
    assert goes_on(sentence, "de" if sentence.startswith("Statt") else "en")


@pytest.mark.parametrize(
    "sentence",
    [
        "The files have names, and these files are kept.",
        "The report lists those that were read.",
        "Names such as these are rare for all of the files that a package holds.",
        "The aim of this manual is to describe the gateway.",
    ],
)
def test_demonstratives_with_their_noun_stand_alone(sentence: str) -> None:
    assert not goes_on(sentence.replace("such as these", "such as ours"))
