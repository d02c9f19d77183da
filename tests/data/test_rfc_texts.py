import hashlib
import tarfile
from itertools import islice

from sumpool.data.rfc_texts import clean_abstract, clean_body
from sumpool.data.sources import bundled_sample
from sumpool.documents.formats.rfc import classify_blocks
from sumpool.documents.text_lines import unwrap

RFC = """
Network Working Group                                          J. Doe
Request for Comments: 9                                          Inc.
                                                             May 1990


                     A Title in the Middle

Status of this Memo

   This memo provides information for the Internet community.  It does
   not specify an Internet standard.

Copyright Notice

   Copyright (C) The Internet Society (1990).  All Rights Reserved.

Abstract

   This is the abstract, and nobody may see it: it is the summary that
   a model is asked for.

   It has a second paragraph.

Table of Contents

   1.  Introduction . . . . . . . . . . . . . . . . . . . . . . . . .  1
   2.  A Section with a Name that is So Long that it Has to Go on in
       the Next Line  . . . . . . . . . . . . . . . . . . . . . . . .  2

   3.  Another  . . . . . . . . . . . . . . . . . . . . . . . . . . .  3

1.  Introduction

   The introduction says that words may be broken at their hy-
   phens, as in machine-
   readable text, but client- and server-side stay apart.

      +------+        +------+
      | box  |------->| box  |
      +------+        +------+

                   Figure 1: Boxes

   0x00 0x01 0x02 0x03 0x04 0x05 0x06
   0x08 0x09 0x0a 0x0b 0x0c 0x0d 0x0e

2.  Intellectual Property

   The IETF takes no position regarding the validity of anything.

3.  Last

   o  A point of a list.

   o  Another one.

Author's Address

   Jane Doe
   Inc.
   EMail: jane@example.com

Full Copyright Statement

   This document and translations of it may be copied and furnished to
   others.
"""


def test_only_prose_of_the_body_is_kept() -> None:
    assert clean_body(RFC).split("\n\n") == [
        "The introduction says that words may be broken at their hy-phens, as in machine-readable text, "
        "but client- and server-side stay apart.",
        "o A point of a list.",
        "o Another one.",
    ]


def document(*blocks: str) -> str:
    body = (
        "1.  Introduction",
        "   The introduction is here so that the table of contents comes to an\n   end.",
        *blocks,
    )
    return RFC[: RFC.index("1.  Introduction\n\n")] + "\n\n".join(body)


INTRODUCTION = "The introduction is here so that the table of contents comes to an end."


def test_sentences_with_bars_and_numbers_are_kept() -> None:
    for paragraph in [
        """   The |Whistle| field tells a |Bird| from a |Plane|, and it is the
   |Whistle| field alone that the |Tower| may believe.""",
        """   The address of the host is 192.0.2.17, that of the gateway is
   192.0.2.254, and the mask of both is 255.255.255.0.""",
        """   o  Where x || y is written, the octets of the second are put behind
      those of the first, so that 0x04 || x || y is the code of a point.""",
    ]:
        assert clean_body(document(paragraph)) == f"{INTRODUCTION}\n\n{unwrap([paragraph])}"


def test_drawings_tables_and_code_are_removed() -> None:
    for drawing in [
        """   +--------+      a message of the host is what the
   | A host |----> gateway has to forward to any other
   +--------+      host of the net that it is in.""",
        """   | The field | what it is for and who may set it in a message |
   | The other | that it is as long as the first one of them all. |""",
        """   ----------------------------------------------------------
   It is up to the host and to the user of it to be polite. | 1 |
   It is up to the gateway to drop what is not, and so on. | 2 |
   ----------------------------------------------------------""",
        """   rule = ( "a" / "b" ) %x41-5A *( "," rule ) [ "=" 1*DIGIT ] ; a rule
   other = %x30-39 / %x61-7A / "-" / "." / "_" / "~" ; the others.""",
        """   4500 0054 a6f2 4000 4001 1056 c000 0201 c000 02fe 0800 4d71 13c6 0001
   1011 1213 1415 1617 1819 1a1b 1c1d 1e1f 2021 2223 2425 2627 2829 2a2b.""",
    ]:
        assert clean_body(document(drawing)) == INTRODUCTION


def test_other_texts_have_no_body() -> None:
    for text in ["", "\n\n", "\f\f", "one line", "Abstract\n\n   Nothing else."]:
        assert clean_body(text) == ""


def test_unwrapping_keeps_hyphens() -> None:
    assert unwrap(["  a point-to-", "  point link, i- and", "o-nodes"]) == "a point-to-point link, i- and o-nodes"


def test_adversarial_lines_are_cleaned() -> None:
    """Patterns that go back and forth would take minutes for them."""
    for part in (". ", " ", "1.", "[Page 1]", "\f"):
        line = part * 25_000 + "x"
        assert len(clean_body(f"Abstract\n\n{line}\n\n{line}\n\nContents\n\n{line}")) < 4 * len(line)


def test_boilerplate_of_the_index_is_removed() -> None:
    for boilerplate in [
        "[STANDARDS-TRACK]",
        "[STANDARDS- TRACK]",
        "[PROPOSED STANDARD]",
        "This memo provides information for the Internet community.",
        "This memo provides information for the Internet community. It does not specify an Internet standard.",
        "This memo defines an Experimental Protocol for the Internet community.",
        "This document defines a Historic Document for the Internet community.",
        "This document specifies an Internet Best Current Practices for the Internet Community, and requests "
        "discussion and suggestions for improvements.",
        "This memo documents an Internet Best Current Practice.",
        "This document is not an Internet Standards Track specification; it is published for informational purposes.",
        "Discussion and suggestions for improvement are requested. Distribution of this memo is unlimited.",
    ]:
        assert clean_abstract(f"It is about birds.\r\n{boilerplate}  ") == "It is about birds."
        assert clean_abstract(boilerplate) == ""


def test_abstract_is_one_paragraph_with_rejoined_words() -> None:
    assert clean_abstract("One machine-\r\nreadable line.\r\n\r\nAnother (e.g. this).") == (
        "One machine-readable line. Another (e.g. this)."
    )


def test_sentences_similar_to_boilerplate_are_kept() -> None:
    text = "This memo provides guidance. It does not specify a wire format [RFC1]."
    assert clean_abstract(text) == text


def test_blocks_have_their_line_and_part() -> None:
    blocks = list(classify_blocks(RFC))
    lines = RFC.split("\n")
    assert all(lines[block.number - 1] == block.lines[0] for block in blocks)
    assert blocks[0].part == "front"
    assert {block.section for block in blocks if block.part == "dropped"} >= {"abstract", "table of contents"}
    assert next(block.lines for block in blocks if block.part == "drawing")[1] == "      | box  |------->| box  |"
    fragments = [block.lines[0].strip() for block in blocks if block.part == "fragment"]
    assert fragments == ["A Title in the Middle", "Figure 1: Boxes"]


DIGEST = "3c6ac7337a4417d9412232c1304b01a7291e564433f21f783e9783e416c98972"  # of 150 bodies, cleaning revision 2


def test_bodies_of_the_sample_are_unchanged() -> None:
    """Prepared data is found by its content: another digest needs another revision of the cleaning."""
    with tarfile.open(bundled_sample()) as archive:
        texts = (member for member in archive if member.name.endswith(".txt"))
        files = [archive.extractfile(member) for member in islice(texts, 150)]
        bodies = [clean_body(file.read().decode("latin-1")) for file in files if file]
    assert len(bodies) > 50
    assert hashlib.sha256("\f".join(bodies).encode()).hexdigest() == DIGEST
