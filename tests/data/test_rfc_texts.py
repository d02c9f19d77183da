import hashlib
import tarfile
from itertools import islice

from sumpool.data.sources import bundled_sample, clean_abstract, clean_body
from sumpool.documents.formats.rfc import classify_blocks

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


def test_other_texts_have_no_body() -> None:
    for text in ["", "\n\n", "\f\f", "one line", "Abstract\n\n   Nothing else."]:
        assert clean_body(text) == ""


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
