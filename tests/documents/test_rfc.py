from sumpool.data.sources import clean_body
from sumpool.documents.formats.rfc import classify_blocks, is_running_text, opens_dropped_section
from sumpool.documents.text_lines import reads_as_prose

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
    for heading in [
        "Birds",
        "1.  Birds",
        "Birds and their Keepers:",
        "Section 1.",
        "What is a Bird ?",
        "Birds!",
        "Birds\n=====",
        "1.  Birds, and how those who keep\n    them get up.",
    ]:
        assert clean_body(STATUS.format(heading=heading)).endswith(BIRDS)
        assert "for those who keep birds" not in clean_body(STATUS.format(heading=heading))


def test_dropped_section_ends_at_a_short_line() -> None:
    line = "It is kept by those who keep birds and by their children, too"[:59] + "."
    assert clean_body(STATUS.format(heading=line)) == f"{line}\n\n{BIRDS}"
    assert clean_body(STATUS.format(heading=f"A{line}")) == ""


def test_dropped_section_without_indentation_goes_on_behind_a_short_sentence() -> None:
    text = STATUS.replace("\n   ", "\n").format(heading="It is free.")
    assert clean_body(text) == ""


def test_underlined_abstract_is_dropped() -> None:
    text = (
        STATUS.format(heading="Abstract:\n=========")
        + "\nIntroduction:\n=============\n\n   They fly, too, most of them.\n"
    )
    assert clean_body(text).split("\n\n")[-1] == "They fly, too, most of them."
    assert BIRDS not in clean_body(text)


def test_contents_end_at_a_paragraph_far_from_the_margin() -> None:
    text = (
        STATUS.format(heading="Table of Contents\n\n1 Birds\n1.1 Other Birds")
        + """
          A bird house holds several birds, each with its own bed, and
          at least one keeper, who has the key to the door, which the
          birds would love to have.
"""
    )
    blocks = [block for block in classify_blocks(text.replace(BIRDS[:11], "1.2 Birds")) if block.part == "prose"]
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
