import time

import pytest

from sumpool.data.sources._rfc_cleaning import body, unwrap

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


def test_only_the_prose_of_the_body_stays() -> None:
    assert body(RFC).split("\n\n") == [
        "The introduction says that words may be broken at their hy-phens, as in machine-readable text, "
        "but client- and server-side stay apart.",
        "o A point of a list.",
        "o Another one.",
    ]


def test_contents_without_page_numbers_go() -> None:
    text = RFC.replace(" .", "").replace("1.  Introduction  1", "1.  Introduction")
    assert body(text) == body(RFC)


def test_a_text_of_the_early_days_keeps_its_paragraphs() -> None:
    text = """
Network Working Group            J. Doe
RFC 9                            May 1972

     A SHORT NOTE

This is the first paragraph of a note without any indentation
or sections.

A POINT

And this is the second.
"""
    assert body(text).split("\n\n") == [
        "This is the first paragraph of a note without any indentation or sections.",
        "And this is the second.",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "\f\f", "one line", "Abstract\n\n   Nothing else."])
def test_texts_that_are_no_rfc_do_no_harm(text: str) -> None:
    assert body(text) == ""


def test_unwrapping_keeps_hyphens() -> None:
    assert unwrap(["  a point-to-", "  point link, i- and", "o-nodes"]) == "a point-to-point link, i- and o-nodes"


@pytest.mark.parametrize(
    "line",
    [". " * 50_000 + "x", " " * 50_000 + "x", "1." * 50_000, "[Page 1]" * 10_000, "\f" * 50_000],
    ids=["dots", "spaces", "numbers", "pages", "form feeds"],
)
def test_hostile_lines_take_no_time(line: str) -> None:
    start = time.process_time()
    body(f"Abstract\n\n{line}\n\n{line}\n\nContents\n\n{line}")
    assert time.process_time() - start < 5
