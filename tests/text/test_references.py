import re
from pathlib import Path

import pytest

from sumpool.text.references import _ANNOUNCING, _LISTED, _OMITTED, goes_on, lacks_subject, refers_to_omitted

ROOT = Path(__file__).parents[2]


def test_lists_figures_and_editions_are_left_out_of_a_summary() -> None:
    for sentence in [
        "We saw that commits have names like this.",
        "The classes share the following functions.",
        "The exceptions are noted below, and the others are not.",
        "The rewrite of this tutorial is available as a guide.",
        "Lines 9-13 are the control information.",
        "In that case the host sends an error.",
    ]:
        assert refers_to_omitted(sentence)


def test_references_of_other_languages() -> None:
    for sentence, language in [
        ("Das zeigt die folgende Tabelle.", "de"),
        ("也许可以用低于下面表格的配置。", "zh"),
        ("Символы показаны в следующей таблице.", "ru"),
        ("Библиотека нужна, чтобы писать такие программы.", "ru"),
        ("Le programme est lancé comme dans la section 3.", "fr"),
        ("以下の表を見る。", "ja"),
        ("En este ejemplo se usa la pasarela.", "es"),
    ]:
        assert refers_to_omitted(sentence, language)
        assert not refers_to_omitted(sentence, "it")


def test_examples_and_reasons_in_the_sentence_itself_are_no_references() -> None:
    assert not refers_to_omitted("Библиотека нужна таким программам, как эта.", "ru")
    assert not refers_to_omitted("Das Programm ändert Rechte, daher wird es nur einmal gestartet.", "de")


def test_whole_sentences_refer_to_nothing() -> None:
    for sentence in [
        "This manual describes the gateway.",
        "The gateway sends packets, such as those of the host.",
        "The host sends the following packets: calls, answers and errors.",
        "The package does nothing in that case if the host has no gateway.",
    ]:
        assert not refers_to_omitted(sentence)
        assert not goes_on(sentence)


def test_connectives_and_demonstratives_go_on() -> None:
    for sentence in [
        "The easiest way to do this is a credential helper.",
        "By contrast, the licence guarantees freedom.",
        "Stattdessen werden die Kinder abgelegt.",
        "\u0412 противном случае пакет будет потерян.",
        "As a result the packet is lost.",
        "The host uses such gateways.",
        "All of such packets are lost.",
        "The only exception is the file of the host.",
        "The host gets a copy of the packet too.",
        "The full name (which has the version) is therefore never used.",
    ]:
        assert goes_on(sentence, "de" if sentence.startswith("Statt") else "en")


def test_german_consequences_go_on_unless_their_reason_is_said() -> None:
    assert goes_on("Das Programm wird daher ohne Rechte gestartet.", "de")
    assert not goes_on("Das Programm ändert Rechte, daher wird es nur einmal gestartet.", "de")
    assert not goes_on("Das Programm wird daher ohne Rechte gestartet.", "fr")


def test_demonstratives_with_their_noun_stand_alone() -> None:
    for sentence in [
        "The files have names, and these files are kept.",
        "The report lists those that were read.",
        "The aim of this manual is to describe the gateway.",
        "As the list grows, it is therefore cut.",
        "The paper introduces two functions, and these functions call others.",
    ]:
        assert not goes_on(sentence.replace("such as these", "such as ours"))


def test_remarks_about_the_document_are_left_out_of_a_summary() -> None:
    for sentence in [
        "The gateway is configured in chapter 4 of the guide.",
        "The scripts run in part, as we saw, at the start.",
        "We are going to build a gateway from its parts.",
        "This introduction to R is derived from a set of notes.",
        "This file records noteworthy changes.",
        "The list is responsible for the contents of this document.",
        "All notable changes to this project will be documented in this file.",
        "The views of this group and those in this report are its own.",
    ]:
        assert refers_to_omitted(sentence)


def test_sentences_without_a_subject() -> None:
    for sentence in [
        "Returns the number of hosts.",
        "The simplest is to look at the packets.",
        "Seems that all hosts are reached.",
        "Measurements - the network is a tool.",
    ]:
        assert lacks_subject(sentence)
        assert not lacks_subject(sentence, "de")


def test_sentences_with_a_subject() -> None:
    for sentence in [
        "Sometimes the host waits.",
        "The test is run by a host.",
        "This is a host.",
        "Is the host ready?",
    ]:
        assert not lacks_subject(sentence)


@pytest.mark.slow
def test_common_anchors_change_no_reference() -> None:
    """The end of a match counts, which depends on the order of the alternatives."""
    announcing, omitted = (re.compile("|".join(wordings), re.IGNORECASE) for wordings in (_ANNOUNCING, _OMITTED))
    paragraphs = {" ".join(part.split()) for page in ROOT.glob("docs/*.md") for part in page.read_text().split("\n\n")}
    found = [
        bool(omitted.search(text)) or any(not _LISTED.search(text, match.end()) for match in announcing.finditer(text))
        for text in paragraphs
    ]
    assert [refers_to_omitted(text) for text in paragraphs] == found
    assert 10 < sum(found) < len(found)
