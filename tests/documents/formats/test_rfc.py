import tarfile
from itertools import islice
from pathlib import Path

from sumpool.data.sources import bundled_sample, clean_body
from sumpool.documents.formats.rfc import classify_blocks, is_running_text, opens_dropped_section
from sumpool.documents.formats.text import reads_as_prose
from sumpool.text.sentences import list_mark
from tests.documents.formats.conftest import outline, read, texts

SAMPLE = Path(__file__).parent / "samples/rfc.txt"


def test_parts_of_an_rfc_have_their_kinds() -> None:
    parsed = read("rfc", SAMPLE.read_bytes())
    assert parsed.title == "On Gateways and Packets"
    assert [(block.kind, block.level, block.text[:14], block.line) for block in parsed.blocks] == [
        ("notice", 0, "Network Workin", 2),
        ("heading", 1, "On Gateways an", 7),
        ("notice", 0, "Status of this", 9),
        ("notice", 0, "This memo prov", 11),
        ("heading", 1, "Abstract", 14),
        ("paragraph", 0, "A gateway forw", 16),
        ("notice", 0, "Table of Conte", 19),
        ("notice", 0, "1. Introductio", 21),
        ("heading", 1, "1. Introductio", 24),
        ("paragraph", 0, "Gateways know ", 26),
        ("code", 0, "+------+      ", 29),
        ("caption", 0, "Figure 1: Boxe", 37),
        ("heading", 1, "2. Lists", 39),
        ("list_item", 1, "A point of a l", 41),
        ("notice", 0, "Author's Addre", 43),
        ("notice", 0, "Jane Doe", 45),
    ]


def test_a_heading_on_the_front_page_is_no_title() -> None:
    text = "Request for Comments: 1\n\n          MINUTES OF A MEETING\n\n{}\n\nNotes are for those who attended it.\n"
    for line in ("               Preface", "             1. SUMMARY", "          (213) 822-1511"):
        assert read("rfc", text.format(line)).title == "MINUTES OF A MEETING"


def test_a_list_item_is_no_heading() -> None:
    text = "Abstract\n\n   Hosts send.\n\n1. Introduction\n\n   Hosts send:\n\n{}\n\nA. Notes\n\n   Hosts send more.\n"
    for line in ("   o  send packets, and", "   a. Sending", "   A host that sends"):
        headings = [part for part in outline("rfc", text.format(line)) if part.startswith("h")]
        assert headings == ["h1 Abstract", "h1 1. Introduction", "h1 A. Notes"]


def test_paragraphs_are_those_of_prepared_data() -> None:
    with tarfile.open(bundled_sample()) as archive:
        members = (member for member in archive if member.name.endswith(".txt"))
        contents = [file.read() for member in islice(members, 40) if (file := archive.extractfile(member))]
    plain = [content for content in contents if content.isascii() and b"\0" not in content]
    assert len(plain) > 30
    for content in plain:
        prepared = [text[list_mark(text) :] for text in clean_body(content.decode("latin-1")).split("\n\n") if text]
        blocks = iter(texts("rfc", content))
        assert all(paragraph in blocks for paragraph in prepared)  # in order


STATUS = """
                                 A Title

Status of this Memo

   This memo is for those who keep birds.  It is not a standard of
   any kind.

{heading}

   Birds sing, and those who keep them have to get up early, whether
   they want to or not.
"""
BIRDS = "Birds sing, and those who keep them have to get up early, whether they want to or not."


def test_dropped_section_ends_at_any_heading() -> None:
    headings = ["Birds", "1.  Birds", "Birds and their Keepers:", "Section 1.", "What is a Bird ?", "Birds!"]
    for heading in [*headings, "Birds\n=====", "1.  Birds, and how those who keep\n    them get up."]:
        body = clean_body(STATUS.format(heading=heading))
        assert body.endswith(BIRDS)
        assert "for those who keep birds" not in body


def test_dropped_section_ends_at_a_short_line_that_is_indented_less() -> None:
    line = "It is kept by those who keep birds and by their children, too"[:59] + "."
    assert clean_body(STATUS.format(heading=line)) == f"{line}\n\n{BIRDS}"
    assert clean_body(STATUS.format(heading=f"A{line}")) == ""
    assert clean_body(STATUS.replace("\n   ", "\n").format(heading="It is free.")) == ""


def test_underlined_abstract_is_dropped() -> None:
    introduction = "\nIntroduction:\n=============\n\n   They fly, too, most of them.\n"
    body = clean_body(STATUS.format(heading="Abstract:\n=========") + introduction)
    assert body.split("\n\n")[-1] == "They fly, too, most of them."
    assert BIRDS not in body


def test_contents_end_at_a_paragraph_far_from_the_margin() -> None:
    text = STATUS.format(heading="Table of Contents\n\n1 Birds\n1.1 Other Birds").replace(BIRDS[:11], "1.2 Birds")
    text += """
          A bird house holds several birds, each with its own bed, and
          at least one keeper, who has the key to the door, which the
          birds would love to have.
"""
    blocks = [block for block in classify_blocks(text) if block.part == "prose"]
    assert blocks[-1].lines[-1].strip() == "birds would love to have."


def test_centred_title_is_no_running_text() -> None:
    assert not is_running_text(["        How the Keepers of Birds in the Town", "         Talk to each Other (HOW)"])
    assert not is_running_text(["   How the Keepers of Birds in all of the Towns", "              Talk (HOW)"])


def test_description_of_a_field_is_no_formality() -> None:
    field = "5.1.  Status\n\n   The status of a cage says whether it is open, closed or in need\n   of a repair.\n"
    assert clean_body(STATUS.format(heading="Birds") + "\n" + field).endswith("in need of a repair.")
    assert opens_dropped_section(["5.1.  Status"])


def test_prose_is_told_by_its_function_words() -> None:
    assert reads_as_prose(["The keeper of the birds is the one who has to feed them."])
    assert not reads_as_prose(["Smith, A., Jones, B., Birds Today, Third Edition, Paris, May 1990."])
    assert not reads_as_prose(["of the birds"])
