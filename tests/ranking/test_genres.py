from sumpool.documents.document import Document, ParsedDocument, TextBlock, TextBlockKind
from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.candidates import CandidateSentence
from sumpool.ranking.genres import change_text, document_genre, is_release, latest_end, with_releases, without_repeated


def sentences(*blocks: tuple[TextBlockKind, str]) -> list[SourceSentence]:
    return [SourceSentence(text, 0, 0, index, kind) for index, (kind, text) in enumerate(blocks)]


def release(version: str, changes: int) -> list[tuple[TextBlockKind, str]]:
    return [("heading", f"Version {version}"), *[("list_item", f"Change {index}") for index in range(changes)]]


def latest_of(*sizes: int) -> int:
    blocks = [block for index, size in enumerate(sizes) for block in release(f"{9 - index}.0", size)]
    return latest_end(sentences(*blocks))


def test_latest_release_ends_at_the_next() -> None:
    assert latest_of(3, 5) == 4
    assert latest_of(5) == 6


def test_a_release_of_few_changes_comes_with_the_next() -> None:
    assert latest_of(1, 4, 4) == 7


def test_headings_of_releases() -> None:
    cases: list[tuple[TextBlockKind, str, bool]] = [
        ("heading", "Noteworthy changes in version 2.2.40", True),
        ("heading", "Unreleased", True),
        ("heading", "[20260107]", True),
        ("code", "# 1.13.0", True),
        ("paragraph", "v1.4.3 2022-10-31 The Irssi team", True),
        ("paragraph", "The gateway of version 1.4 is removed", False),
        ("heading", "Bug fixes", False),
        ("list_item", "1.4.3", True),
        ("list_item", "v1.4.3 (2022-10-31)", True),
        ("list_item", "Gateway 1.4.3", False),
    ]
    for kind, text, is_one in cases:
        assert is_release(sentences((kind, text))[0]) is is_one


def test_components_and_issues_are_no_part_of_a_change() -> None:
    assert change_text("gpg: Do not use AES. [T6205]") == "Do not use AES."
    assert change_text("NEW plots use arrows Bug #2484") == "plots use arrows"
    assert change_text("#14465: LaTeX: Fix crash") == "Fix crash"
    assert change_text("Fix crash on upgrade (#1399, #1419)") == "Fix crash on upgrade"
    assert change_text("Fix freeze (with a warning)") == "Fix freeze (with a warning)"


def test_parts_of_a_change_are_one() -> None:
    changes = [SourceSentence("Fix it.", 0, 0, 1, "list_item"), SourceSentence("Patch by me.", 0, 0, 1, "list_item")]
    heads = [SourceSentence(f"Version {number}.0", 0, 0, 5 * number, "heading") for number in (2, 1)]
    assert latest_end([heads[0], *changes, *changes, heads[1], *changes]) == 8


def test_changes_know_their_release() -> None:
    blocks = sentences(
        ("paragraph", "A list."),
        ("heading", "[1.2.0] - 2024-05-01"),
        ("paragraph", "Released 2024-05-01"),
        ("list_item", "Fix."),
        ("paragraph", "Release 1.1:"),
        ("list_item", "Fix."),
    )
    items = [CandidateSentence("Fix.", index, index) for index in (0, 3, 5)]
    assert [item.section for item in with_releases(items, blocks)] == ["", "Version 1.2.0 - 2024-05-01", "Release 1.1"]


def test_a_text_of_notices_is_a_licence() -> None:
    terms = TextBlock("Redistribution and use in source and binary forms are permitted without any warranty.")
    guide = TextBlock(f"The licence is below. {'The host sends all of its packets to the gateway. ' * 5}")
    package = Document.from_parsed("a.txt", ParsedDocument((guide, terms)))
    assert document_genre(package) == ""
    readme = Document.from_parsed("b/README.md", ParsedDocument((terms, terms), "Birder"))
    assert document_genre(readme) == ""
    message = TextBlock("Could you tell me when the host is ready?")
    assert document_genre(Document.from_parsed("a.txt", ParsedDocument((terms, terms)))) == "licence"
    assert document_genre(Document.from_parsed("a.txt", ParsedDocument((message, terms)))) == ""


def test_a_list_of_questions_is_a_genre() -> None:
    blocks = tuple(TextBlock(f"Why is host {number} slow?", "heading") for number in range(5))
    assert document_genre(Document.from_parsed("faq.html", ParsedDocument(blocks))) == "questions"
    assert document_genre(Document.from_parsed("irssi/NEWS", ParsedDocument(blocks))) == "changelog"


def test_faults_that_were_mended_say_so() -> None:
    blocks = sentences(
        ("heading", "Version 2.0"),
        ("heading", "Bugs fixed"),
        ("list_item", "Plots were off by one."),
        ("list_item", "Fix the crash."),
        ("heading", "Added"),
        ("list_item", "Plots use arrows."),
        ("list_item", "FIX plots were off by two"),
        ("heading", "Removed"),
        ("list_item", "Unused plots."),
        ("list_item", "Drop old plots."),
    )
    items = [CandidateSentence(blocks[index].text, index, index) for index in (2, 3, 5)]
    items.append(CandidateSentence("Plots were off by two.", 6, 6))
    items += [CandidateSentence(blocks[index].text, index, index) for index in (8, 9)]
    assert [item.text for item in with_releases(items, blocks)] == [
        "Fixed: Plots were off by one.",
        "Fix the crash.",
        "Plots use arrows.",
        "Fixed: Plots were off by two.",
        "Removed: Unused plots.",
        "Drop old plots.",
    ]


def test_changes_below_faults_and_changes_are_not_all_mended() -> None:
    blocks = sentences(
        ("heading", "Version 2.0"), ("heading", "Bug fixes and changes"), ("list_item", "Plots are old.")
    )
    assert with_releases([CandidateSentence("Plots are old.", 2, 2)], blocks)[0].text == "Plots are old."


def test_of_repeated_changes_the_first_stays() -> None:
    texts = ["Fixed the parser.", "Added birds.", "Fixed the parser.", "Added birds to the garden."]
    kept = without_repeated([CandidateSentence(text, index, index) for index, text in enumerate(texts)])
    assert [item.index for item in kept] == [0, 3]
