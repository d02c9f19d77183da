import re
from pathlib import Path

import pytest

from sumpool.text.references import _ANNOUNCING, _LISTED, _OMITTED, goes_on, lacks_subject, refers_to_omitted

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "sentence",
    [
        "We saw that commits have names like this.",
        "The classes share the following functions.",
        "The lower left diagram depicts a classic analysis.",
        "The exceptions are noted below, and the others are not.",
        "The rewrite of this tutorial is available as a guide.",
        "This document was originally written in YODL.",
        "This document has been produced from the texinfo file zsh.texi.",
        "The steps are as follows.",
        "This module handles the two other cases.",
        "Line 5 includes the list of hosts.",
        "Lines 9-13 are the control information.",
        "In that case the host sends an error.",
    ],
)
def test_lists_figures_and_editions_are_left_out_of_a_summary(sentence: str) -> None:
    assert refers_to_omitted(sentence)


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Das zeigt die folgende Tabelle.", "de"),
        ("Dieses Kapitel geht davon aus, dass der Rechner läuft.", "de"),
        ("Zu diesem Thema lesen Sie das Handbuch.", "de"),
        ("也许可以用低于下面表格的配置。", "zh"),
        ("重新引导的方法见第 3.6.2 节。", "zh"),
        ("Mit diesen beiden Schaltflächen wird der Ausschnitt gewählt.", "de"),
        ("Символы показаны в следующей таблице.", "ru"),
        ("Стоимость приведена в Пример 2.1.", "ru"),
        ("Библиотека нужна, чтобы писать такие программы.", "ru"),
        ("Обычно это выделение, но есть и другой способ.", "ru"),
        ("Пакеты выбирают, как это описано в предыдущем разделе.", "ru"),
        ("Das Programm wird wie im vorherigen Abschnitt gestartet.", "de"),
        ("Das Programm wird wie in Abschnitt 1.4 gestartet.", "de"),
        ("Der Rechner erlaubt, solche Pakete zu senden.", "de"),
        ("Le programme est lancé comme dans la section 3.", "fr"),
        ("Le programme est lancé comme dans le chapitre précédent.", "fr"),
        ("El programa se inicia como en la sección anterior.", "es"),
        ("下表列出所有选项。", "zh"),
        ("Les options suivantes sont connues.", "fr"),
        ("以下の表を見る。", "ja"),
        ("上のスクリーンショットでは選択されている。", "ja"),
        ("En este ejemplo se usa la pasarela.", "es"),
        ("Las opciones siguientes son conocidas.", "es"),
    ],
)
def test_references_of_other_languages(sentence: str, language: str) -> None:
    assert refers_to_omitted(sentence, language)
    assert not refers_to_omitted(sentence, "it")


def test_examples_and_reasons_in_the_sentence_itself_are_no_references() -> None:
    assert not refers_to_omitted("Библиотека нужна таким программам, как эта.", "ru")
    assert not refers_to_omitted("Das Programm ändert Rechte, daher wird es nur einmal gestartet.", "de")


@pytest.mark.parametrize(
    "sentence",
    [
        "This manual describes the gateway.",
        "This section contains an overview of the tools.",
        "The gateway sends packets, such as those of the host.",
        "The gateway forwards packets to the other hosts.",
        "The class is based on the former style file.",
        "The host sends the following packets: calls, answers and errors.",
        "The package does nothing in that case if the host has no gateway.",
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
        "\u0412 противном случае пакет будет потерян.",
        "As a result the packet is lost.",
        "To be specific, little is known of the host.",
        "The host uses such gateways.",
        "Except for the last two, they are fields of the file.",
        "Use it for the packets of the host.",
        "All of such packets are lost.",
        "This is the report of that workshop.",
        "If neither are available, the host sends an error.",
        "The only exception is the file of the host.",
        "Internally they are pairs.",
        "This includes packets of all hosts.",
        "This needs packets of all hosts.",
        "The host gets a copy of the packet too.",
        "The full name (which has the version) is therefore never used.",
    ],
)
def test_connectives_and_demonstratives_go_on(sentence: str) -> None:
    assert goes_on(sentence, "de" if sentence.startswith("Statt") else "en")


def test_german_consequences_go_on_unless_their_reason_is_said() -> None:
    assert goes_on("Das Programm wird daher ohne Rechte gestartet.", "de")
    assert not goes_on("Das Programm ändert Rechte, daher wird es nur einmal gestartet.", "de")
    assert not goes_on("Das Programm wird daher ohne Rechte gestartet.", "fr")


@pytest.mark.parametrize(
    "sentence",
    [
        "The files have names, and these files are kept.",
        "The report lists those that were read.",
        "Names such as these are rare for all of the files that a package holds.",
        "The aim of this manual is to describe the gateway.",
        "As the list grows, it is therefore cut.",
        "The paper introduces two functions, and these functions call others.",
        "The workshop of the two organisations brought a hundred people together to discuss how hosts and networks "
        "should react to attacks by observers and how the network withstands such observation.",
    ],
)
def test_demonstratives_with_their_noun_stand_alone(sentence: str) -> None:
    assert not goes_on(sentence.replace("such as these", "such as ours"))


@pytest.mark.parametrize(
    "sentence",
    [
        "The gateway is configured in chapter 4 of the guide.",
        "The code of the gateway is that of listing 0.9.",
        "The scripts run in part, as we saw, at the start.",
        "You have now made the first host of the network.",
        "We have now named the parts of the host: its gateway and its packets.",
        "We are going to build a gateway from its parts.",
        "The gateway drops packets in a different way.",
        "The format of the name is described in Package.",
        "The headers are explained in the reference of the host.",
        "This manual is for the gateway of version 4.",
        "This introduction to R is derived from a set of notes.",
        "This vignette is based on an older paper.",
        "This file records noteworthy changes.",
        "This file is public domain.",
        "The system is a tool that helps with that task.",
        "The format is based on Keep a Changelog.",
        "The list is responsible for the contents of this document.",
        "The host is covered by the terms of this License.",
        "All notable changes to this project will be documented in this file.",
        "If you are new, you can visit the site of the host.",
        "The examples in this FAQ assume a shell.",
        "The views of this group and those in this report are its own.",
        "In this chapter, files are referred to without their folder.",
        "The command had major updates since this old document was written.",
    ],
)
def test_remarks_about_the_document_are_left_out_of_a_summary(sentence: str) -> None:
    assert refers_to_omitted(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Returns the number of hosts.",
        "Sets up hosts for the gateway.",
        "Constructs a chart of the packets.",
        "The simplest is to look at the packets.",
        "The hard part is the encoding of names.",
        "Seems that all hosts are reached.",
        "Measurements - the network is a tool.",
    ],
)
def test_sentences_without_a_subject(sentence: str) -> None:
    assert lacks_subject(sentence)
    assert not lacks_subject(sentence, "de")


@pytest.mark.parametrize(
    "sentence",
    [
        "Sometimes the host waits.",
        "Across the network, hosts wait.",
        "The test is run by a host.",
        "This is a host.",
        "Hosts send packets.",
        "Is the host ready?",
    ],
)
def test_sentences_with_a_subject(sentence: str) -> None:
    assert not lacks_subject(sentence)


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
