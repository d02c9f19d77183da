from sumpool.documents.document import Document, ParsedDocument, TextBlock, TextBlockKind
from sumpool.documents.source_sentences import source_sentences
from sumpool.ranking.candidates import CandidateSentence, find_candidates
from sumpool.ranking.genres import Genre, document_genre, document_title, file_stem
from sumpool.text.sentences import SentenceSplitter

FILLER = "The gateway sends all of the packets to the host that has asked for them before. " * 4


def document(*blocks: tuple[TextBlockKind, str], title: str = "", id: str = "gateways.txt") -> Document:
    return Document.from_parsed(id, ParsedDocument(tuple(TextBlock(text, kind) for kind, text in blocks), title))


def found(document: Document, genre: Genre = "") -> list[CandidateSentence]:
    return find_candidates(document, source_sentences(document, SentenceSplitter.default()), "en", genre)


def candidates(*blocks: tuple[TextBlockKind, str], title: str = "") -> list[CandidateSentence]:
    return found(document(*blocks, ("paragraph", FILLER), title=title))


def texts(*blocks: tuple[TextBlockKind, str], title: str = "") -> list[str]:
    return [candidate.text for candidate in candidates(*blocks, title=title) if candidate.text not in FILLER]


def test_only_prose_holds_candidates() -> None:
    sentence = "The host sends a packet to the gateway."
    kinds: tuple[TextBlockKind, ...] = ("heading", "table_row", "caption", "code", "notice")
    for kind in kinds:
        assert texts((kind, sentence)) == []
        assert texts(("list_item", sentence)) == [sentence]


def test_licences_contents_and_stubs_are_no_candidates() -> None:
    assert (
        texts(
            ("paragraph", "Copyright 2004 by the authors of the manual."),
            ("paragraph", "Introduction . . . . . . . . 12"),
            ("paragraph", "The Project Leader may: 1."),
            ("list_item", "2. 4."),
        )
        == []
    )


def test_sections_about_the_document_hold_no_candidates() -> None:
    for heading in ["License", "7. Acknowledgements", "See also", "References", "Donations"]:
        sentence = "The host sends a packet to the gateway."
        assert texts(("heading", heading), ("paragraph", sentence), ("heading", "Packets")) == []
        assert texts(("heading", "Packets"), ("paragraph", sentence), ("heading", heading)) == [sentence]


def test_a_sentence_that_refers_to_another_comes_with_it_or_not_at_all() -> None:
    first, second = "The host sends a packet to the gateway.", "It waits for the answer of the gateway."
    together = candidates(("paragraph", f"{first} {second}"))
    assert [(item.text, item.predecessor) for item in together[:2]] == [(first, None), (second, 0)]
    assert texts(("paragraph", first), ("paragraph", second)) == [first]
    assert texts(("paragraph", f"Is it on? {second}")) == []
    assert texts(("paragraph", "This is not a question of the host.")) == []
    assert texts(("paragraph", "They force the gateway to send it.")) == []
    assert texts(("paragraph", "This filter is the one of the host.")) == ["This filter is the one of the host."]


def test_candidates_know_their_place() -> None:
    first, *_ = candidates(("heading", "2. Packets"), ("paragraph", "and so on. The host sends it a packet or two."))
    assert (first.index, first.place, first.section, first.is_first) == (2, 2, "Packets", False)


def test_the_words_of_the_title_may_begin_a_sentence_in_lower_case() -> None:
    sentence = "sendd is the daemon that sends the packets."
    assert texts(("paragraph", sentence), title="sendd") == [sentence]
    assert texts(("paragraph", sentence)) == []


def test_lists_without_full_stops_are_candidates_where_there_is_nothing_else() -> None:
    items = document(("list_item", "* fix the crash of the gateway on start"), ("list_item", "Status:"))
    assert [item.text for item in found(items)] == ["Fix the crash of the gateway on start."]
    assert texts(("list_item", "fix the crash of the gateway on start")) == []


def test_a_licence_is_summarised_by_its_terms() -> None:
    terms = "Permission is granted to copy the work to all of you."
    licence = document(("heading", "Example Public License"), ("paragraph", terms), ("paragraph", FILLER))
    assert document_genre(licence) == "licence"
    assert terms in [item.text for item in found(licence, "licence")]
    assert terms not in [item.text for item in found(licence)]
    assert document_genre(document(("heading", "Example License"), ("paragraph", FILLER))) == ""
    assert document_genre(document(("heading", "Manual"), ("paragraph", FILLER), ("paragraph", terms))) == ""


def test_a_grant_is_whole_without_its_conditions() -> None:
    terms = "Permission is granted to copy the work to all of you, if the following conditions are met:"
    licence = document(("heading", "Example License"), ("paragraph", terms), ("list_item", "1. Copy it."))
    latest, *_ = found(licence, "licence")
    assert latest.text == f"{terms[:-1]}."


def test_the_addendum_of_a_licence_holds_no_candidates() -> None:
    terms = "Permission is granted to copy the work to all of you."
    licence = document(("heading", "Example License"), ("heading", "ADDENDUM: How to use"), ("paragraph", terms))
    assert found(licence, "licence") == []


def test_of_a_changelog_only_the_latest_changes_are_candidates() -> None:
    items = [("list_item", f"fix crash number {number} of the gateway on start") for number in range(40)]
    changes = document(*((("list_item"), text) for _, text in items), id="NEWS.gz")
    assert document_genre(changes) == "changelog"
    latest = found(changes, "changelog")
    assert [item.index for item in latest] == list(range(25))


def test_a_readme_is_named_after_its_folder() -> None:
    assert file_stem(document(id="/usr/share/doc/htop/README.gz")) == "htop README"
    assert file_stem(document(id="manual.en.txt")) == "manual"
    assert file_stem(document(id="-")) == ""


def test_a_heading_at_the_beginning_of_a_paragraph_is_no_candidate() -> None:
    assert texts(("list_item", "Grant of the copyright license. The host sends a packet to it.")) == [
        "The host sends a packet to it."
    ]


def test_a_sentence_torn_apart_is_no_candidate() -> None:
    assert texts(("paragraph", "The question is not whether it is wrong (it is!) but what is wrong with it.")) == []


def test_a_title_is_stated_or_the_first_heading() -> None:
    assert document_title(document(("heading", "Packets"), title="Hosts")) == "Hosts"
    assert document_title(document(("heading", "Packets"))) == "Packets"
    assert document_title(document(("paragraph", FILLER))) == ""


def test_references_to_omitted_lists_are_no_candidates() -> None:
    assert texts(("paragraph", "The classes of the host share the following functions.")) == []
    first, second = "The host reads all of the file.", "The easiest way to do this is a program that asks."
    assert texts(("paragraph", f"{first} {second}")) == [first, second]
    assert texts(("paragraph", second)) == []


def test_name_line_of_a_manual_page_as_html_is_a_candidate() -> None:
    line = "gitfaq - Frequently asked questions about Git"
    assert texts(("heading", "gitfaq(7) Manual Page"), ("heading", "NAME"), ("paragraph", line)) == [f"{line}."]


def test_name_line_of_a_manual_page_is_a_candidate() -> None:
    line = "mosh - mobile shell with roaming"
    first, *_ = candidates(("heading", "NAME"), ("paragraph", line), ("heading", "DESCRIPTION"))
    assert (first.text, first.is_name_line) == (f"{line}.", True)


def test_a_short_sentence_with_a_verb_is_no_run_in_heading() -> None:
    short, long = "There are many different gateways.", "The host sends a packet to the gateway."
    assert texts(("paragraph", f"{short} {long}")) == [short, long]


def test_changelogs_offer_the_latest_release() -> None:
    changes = [f"Remove the {name} gateway from the host" for name in ("red", "green", "blue", "old", "black")]
    blocks: list[tuple[TextBlockKind, str]] = [
        ("heading", "Version 2.0"),
        *[("list_item", f"gpg: {change} (#12)") for change in changes[:3]],
        ("heading", "Version 1.0"),
        *[("list_item", change) for change in changes[3:]],
    ]
    parsed = document(*blocks, title="Changelog")
    assert [item.text for item in found(parsed, "changelog")] == [f"{change}." for change in changes[:3]]


def test_a_line_above_a_list_of_changes_is_its_heading() -> None:
    line, change = "Important changes of hosts and gateways", "Remove the red gateway from the host"
    parsed = document(("heading", "Version 2.0"), ("paragraph", line), ("list_item", change), title="Changelog")
    assert [item.text for item in found(parsed, "changelog")] == [f"{change}."]


def test_a_change_that_is_the_beginning_of_another_is_no_candidate() -> None:
    change = "Remove the red gateway from the host"
    items: list[tuple[TextBlockKind, str]] = [("list_item", f"{change}{end}") for end in ("", " of the network", "")]
    parsed = document(("heading", "Version 2.0"), *items, title="Changelog")
    assert [item.index for item in found(parsed, "changelog")] == [2]


def test_older_changes_are_offered_where_the_latest_have_no_text() -> None:
    code: list[tuple[TextBlockKind, str]] = [("list_item", f"\\\\{name}: \\\\url{{x}}") for name in "abc"]
    older: tuple[TextBlockKind, str] = ("list_item", "Remove the red gateway from the host")
    parsed = document(("heading", "Version 2.0"), *code, ("heading", "Version 1.0"), older, title="Changelog")
    (item,) = found(parsed, "changelog")
    assert (item.section, item.text) == ("Version 1.0", f"{older[1]}.")


def test_a_change_that_needs_the_sentence_before_it_is_no_candidate() -> None:
    change = "Replace the gateway by a host of its own. The only exception is the host of the packets."
    parsed = document(("heading", "Version 2.0"), ("list_item", change), title="Changelog")
    assert [item.text for item in found(parsed, "changelog")] == ["Replace the gateway by a host of its own."]


def test_a_change_that_goes_on_is_no_candidate_where_its_predecessor_is_none() -> None:
    change = "Hosts `{a|b}` wait for `a`. If neither is available, the gateway says so."
    parsed = document(("heading", "Version 2.0"), ("list_item", change), title="Changelog")
    assert found(parsed, "changelog") == []


def test_a_sentence_that_repeats_the_name_line_is_no_candidate() -> None:
    described = texts(
        ("paragraph", "tty - print the name of the terminal"), ("paragraph", "print the name of the terminal.")
    )
    assert described == ["tty - print the name of the terminal."]


def test_the_name_of_a_project_may_begin_a_sentence_in_lower_case() -> None:
    readme = document(
        ("paragraph", f"composer is a library for packets. {FILLER}"), id="/src/my-composer-2.2/README.md"
    )
    first, *_ = found(readme)
    assert first.text == "composer is a library for packets."


def test_a_question_is_a_candidate_where_there_is_little_else() -> None:
    mail = document(
        ("paragraph", "Could you tell me when the host is ready?"), ("paragraph", "Jo Doe Host Gateway Inc")
    )
    assert [item.text for item in found(mail)] == ["Could you tell me when the host is ready?"]


def test_identifiers_at_the_beginning_of_a_change_keep_their_case() -> None:
    items = ("send_packet does not fail any more", "packets are sent at the start")
    changes = document(*(("list_item", text) for text in items), id="NEWS")
    latest = found(changes, "changelog")
    assert [item.text for item in latest] == [
        "send_packet does not fail any more.",
        "Packets are sent at the start.",
    ]


def test_a_readme_that_does_not_name_its_project_is_given_its_title() -> None:
    assert texts(("heading", "Birder"), ("paragraph", "Simple library for all of the birds of a tower.")) == [
        "Birder: Simple library for all of the birds of a tower."
    ]


def test_the_heading_of_an_abstract_is_no_subject() -> None:
    sentence = "A package for links to files."
    assert texts(("heading", "Birder"), ("paragraph", sentence))[:1] == [f"Birder: {sentence}"]
    assert texts(("heading", "Abstract"), ("paragraph", sentence))[:1] == [sentence]


def test_a_sentence_about_the_document_needs_no_title() -> None:
    described = "This document describes the implementation of the gateway."
    assert texts(("heading", "Abstract"), ("paragraph", described)) == [described]


def test_sections_below_the_back_matter_hold_no_candidates() -> None:
    levels = ((1, "Birder"), (2, "Sponsors"), (3, "Gateway Inc"), (2, "Usage"))
    texts = [f"The host {number} sends all of its packets to the gateway." for number in range(4)]
    blocks = [
        block
        for (level, heading), text in zip(levels, texts, strict=True)
        for block in (TextBlock(heading, "heading", level), TextBlock(text), TextBlock(FILLER))
    ]
    readme = Document.from_parsed("a.md", ParsedDocument(tuple(blocks)))
    prose = found(readme)
    assert [item.text for item in prose if item.text not in FILLER] == [texts[0], texts[3]]


def test_a_name_line_is_known_where_there_is_little_else() -> None:
    page = document(("paragraph", "tty - print the name"), ("paragraph", "the line of the host"))
    first, *_ = found(page)
    assert first.is_name_line


def test_descriptions_of_terms_are_marked() -> None:
    described = "A gateway that drops all of the packets is made."
    first, second, *_ = candidates(
        ("paragraph", "The host waits for all of the packets."), ("code", "gateway(x)"), ("paragraph", described)
    )
    assert (first.is_description, second.is_description) == (False, True)


def test_sections_are_named_without_their_number() -> None:
    for number in ["2.5", "2.5:", "2."]:
        (first, *_) = candidates(
            ("heading", f"{number} Gateways and hosts"), ("paragraph", "The host sends packets to the gateway.")
        )
        assert first.section == "Gateways and hosts"


def test_headings_of_markdown_in_plain_text_lose_their_marks() -> None:
    document = Document("readme", "# liftoff\n\nLaunch your command line tool with ease and without configuration.")
    candidates = found(document)
    assert [candidate.text.split(":")[0] for candidate in candidates] == ["liftoff"]
