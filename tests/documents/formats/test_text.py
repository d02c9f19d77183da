from itertools import pairwise

import pytest

from sumpool.documents.formats.text import numbered_lines, text_blocks, text_spans
from tests.documents.formats.conftest import outline, outline_of, read, texts

PROSE = (
    "A paragraph of a text that goes on over the end of its line, because it\n"
    "is too long for one line, and that ends here."
)
LINE = "A sentence that is written in one line, as editors without hard line breaks do. " * 3
CAPTION = "Figure 1: Sparse attention matrices. (A) The complete input. (B) Blocks."
ITEMS = """\
There are:
  1. one thing, which is
     long enough for two;
  2. another.
  * a last (a) thing

- Item

  Its paragraph goes on.
"""


def kinds(text: str) -> list[str]:
    return [block.kind for block in read("text", text).blocks]


def test_blocks() -> None:
    for text, expected in [
        ("A hy-\nphen of a machine-\nread text.\n\nTwo.", ["p A hy-phen of a machine-read text.", "p Two."]),
        ("Birds:\n o    The owl.\n o    The crow.\n", ["p Birds:", "li1 The owl.", "li1 The crow."]),
        ("2.28 The second item of a section.\n", ["li1 The second item of a section."]),
        ("| a | b |\n| c | d |\n", ["row a b", "row c d"]),
        ("Name      Size   Date\nls        10     May\n", ["row Name Size Date", "row ls 10 May"]),
        (
            "Name: ls\nVersion: 1\nSummary: lists the files of all the folders\n  that it is given\n",
            ["p Name: ls", "p Version: 1", "p Summary: lists the files of all the folders that it is given"],
        ),
        ("Q: Why does the gateway wait?\nA: It is late.\n", ["p Q: Why does the gateway wait?", "p A: It is late."]),
        ("\x1b[1mBold\x1b[0m and B\bBo\bol\bld\bd, _\bu here.\n", ["p Bold and Bold, u here."]),
        (
            "路由器在网络之间转发数据包并且丢弃\n太长的数据包。\n",
            ["p 路由器在网络之间转发数据包并且丢弃太长的数据包。"],
        ),
        ("Part one\f\nand\f two\n", ["p Part one and two"]),
        (
            "A. Open the lid.\nB. Close it again.\n\nM. Dupont waits.\n\nC. Call the office.\n",
            ["li1 Open the lid.", "li1 Close it again.", "p M. Dupont waits.", "li1 Call the office."],
        ),
        ("M. Dupont a fermé le pont lundi.\n", ["p M. Dupont a fermé le pont lundi."]),
        ("J. Roe, who was there, said so.\n", ["p J. Roe, who was there, said so."]),
        ("B. Bo sang. C. Di danced.\n", ["p B. Bo sang. C. Di danced."]),
        (
            "Parts are shown.\n\n\u2460 is the pump of the ferry, \u2461 the valve.",
            ["p Parts are shown.", "p \u2460 is the pump of the ferry, \u2461 the valve."],
        ),
        ("\u2460 The pump.\n\n\u2461 The valve.", ["li1 The pump.", "li1 The valve."]),
        (
            "The survey of the river by the office is on the pages 737\u2013\n749 of the report \u2013\n3 boats.",
            ["p The survey of the river by the office is on the pages 737\u2013749 of the report \u2013 3 boats."],
        ),
    ]:
        assert outline("text", text) == expected


def test_kinds_of_blocks() -> None:
    for text, expected in [
        ("+----+    +----+\n| ab |--->| cd |\n+----+    +----+\n", ["code"]),
        (f"{PROSE}\n\n    $ ls -l\n\n{PROSE}", ["paragraph", "code", "paragraph"]),
        (f"{LINE}\n{LINE}\n{LINE}\n", ["paragraph"] * 3),
        (f"   {PROSE}\n   {PROSE}\n   {PROSE}\n", ["paragraph"] * 3),
        (f"{PROSE}\n\n{CAPTION}\n\nFigure 1 shows it.\n\n{PROSE}", ["paragraph", "caption", "paragraph", "paragraph"]),
        (f"{PROSE}\n\nJane Doe\n12 Long Street\nBoston, USA\n", ["paragraph"] * 4),
        (ITEMS, ["paragraph", *["list_item"] * 4, "paragraph"]),
    ]:
        assert kinds(text) == expected


def test_items_and_code_keep_their_lines() -> None:
    items = [text for text in outline("text", ITEMS) if text.startswith("li")]
    assert items == ["li1 one thing, which is long enough for two;", "li1 another.", "li1 a last (a) thing", "li1 Item"]
    code = "    for name in names:\n        print(name)\n"
    assert texts("text", f"{PROSE}\n\n{code}\n{PROSE}")[1] == "for name in names:\n    print(name)"
    assert kinds("2.28 (2023-01-16):\n\nSome text of a paragraph.\n")[0] != "list_item"


def test_headings_are_recognised() -> None:
    for heading, level in [
        ("Introduction\n============", 1),
        ("************\nIntroduction\n************", 1),
        ("1. Introduction", 1),
        ("2.3. How do I read it?", 2),
        ("2.3.1. A long heading that is broken at the end of the line since it\nis so long", 3),
        ("Chapter 4. Birds", 1),
        ("INTRODUCTION", 1),
        ("About the Birds", 2),
        ("1. Definitions.", 1),
    ]:
        block = read("text", f"{PROSE}\n\n{heading}\n\n{PROSE}\n").blocks[1]
        assert (block.kind, block.level) == ("heading", level)
        assert block.text in " ".join(heading.split())


def test_levels_follow_underlines() -> None:
    text = f"Title\n=====\n\n{PROSE}\n\nPart\n----\n\n{PROSE}\n\nOther\n=====\n\n{PROSE}\n"
    assert [line for line in outline("text", text) if line.startswith("h")] == ["h1 Title", "h2 Part", "h1 Other"]


@pytest.mark.parametrize("mark", ["*", "#"])
def test_frames_are_no_text(mark: str) -> None:
    rule, empty = 16 * mark, f"{mark}{14 * ' '}{mark}"
    parsed = read("text", f"{rule}\n{empty}\n{mark} About birds  {mark}\n{empty}\n{rule}\n\n{mark} The owl hoots.\n")
    assert parsed.title == "About birds"
    assert (parsed.blocks[0].text, parsed.blocks[0].line) == ("About birds", 3)
    assert "The owl hoots." in parsed.blocks[1].text  # behind the frame marks are those of a list


def test_first_line_is_the_title() -> None:
    text = "      A Title in\n   the Middle\n\nText that is longer than it, and ends with a stop.\n"
    assert read("text", text).title == "A Title in the Middle"
    assert read("text", "Only one line").title == ""


PAGES = """
RFC 9                     Birds                     May 1990

   The first paragraph of this page goes on to the next page, since it
   is too long for
   one; it has no end on this page and therefore it has to be put




Doe                                                     [Page 1]
\f
RFC 9                     Birds                     May 1990


   together again.

   This one ends with its page.

Doe                                                     [Page 2]
\f
RFC 9                     Birds                     May 1990

   RFC 8 is the subject of this paragraph.
"""


def lines_of(text: str) -> list[str]:
    return [line for _, line in numbered_lines(text)]


def test_headers_and_footers_are_removed_and_paragraphs_rejoined() -> None:
    assert lines_of(PAGES)[2:] == [
        "   The first paragraph of this page goes on to the next page, since it",
        "   is too long for",
        "   one; it has no end on this page and therefore it has to be put",
        "   together again.",
        "",
        "   This one ends with its page.",
        "",
        "   RFC 8 is the subject of this paragraph.",
    ]


def test_two_line_headers_and_bare_page_numbers_are_removed() -> None:
    pages = [f"May 1981\nSome Protocol\n\nText number {word}.\n\n- {n} -" for n, word in enumerate("abcd")]
    lines = lines_of("\f".join(pages))
    assert [line for line in lines if line][2:] == [f"Text number {word}." for word in "abcd"] + ["- 3 -"]


def test_text_without_pages_is_kept() -> None:
    assert lines_of("\ufeffOne\r\ntwo  \r\n\r\n\tThree\r\n") == ["One", "two", "", "        Three"]
    assert lines_of("") == []


def double_spaced(paragraphs: list[list[str]]) -> str:
    return "\n\n\n".join("\n\n".join(lines) for lines in paragraphs)


SENTENCE = [
    "     A modem that answers  too  early  spoils  the  whole  call,  and",
    "nobody  at the other end can tell whether the line or the program is",
    "to  blame  for it.",
]


def test_double_spaced_paragraphs_are_rejoined_without_revision_bars() -> None:
    marked = [f"{line:76}|" for line in SENTENCE]
    lines = lines_of(double_spaced([["     1.  Modems"], *[SENTENCE] * 12, marked]))
    assert lines[:7] == ["     1.  Modems", "", "", *SENTENCE, ""]
    assert [line for line in lines if line] == ["     1.  Modems", *SENTENCE * 13]
    assert lines.count("") == 26


def test_double_spaced_tables_and_list_items_stay_apart() -> None:
    table = [
        "the name of the field       the octets of it in the leader of a message",
        "the number of the host      one octet, the first one of the message",
    ]
    items = ["     o A modem that is deaf to the tones of all the other modems in", "     o another town"]
    lines = lines_of(double_spaced([*[SENTENCE] * 12, table, items]))
    assert lines[-8:] == [table[0], "", table[1], "", "", items[0], "", items[1]]


def test_single_spaced_lists_keep_their_empty_lines() -> None:
    entries = [f"{number:3} Postel    A Title That Is As Long As A Line Of A Paragraph" for number in range(40)]
    assert lines_of("\n\n".join(entries)).count("") == 39


PARAGRAPH = "A paragraph of more than seventy-five characters in one line, so that short lines above are headings."
TEXT = """# A title

Some prose
in two lines.
- the first item
- the second item
  goes on

INTRODUCTION
The prose below a heading in capitals.

```
code = 1

## more code
```

| a | b |
|---|---|
| c | d |

Underlined
==========

    x = f(y); z = {1}

1. The first item of a list.

2. The second item.
## A heading below

A short last line
"""
UNMARKED = f"A title\n\n{PARAGRAPH}\n\n2.1. A numbered heading\n\n{PARAGRAPH}\n\nA short heading\n\n{PARAGRAPH}\n"


def spans(text: str) -> list[str]:
    return outline_of(block for block, _ in text_spans(text))


def test_parts_have_kinds_levels_and_places() -> None:
    assert spans(TEXT) == [
        "h1 A title",
        "p Some prose\nin two lines.",
        "li1 the first item",
        "li1 the second item\n  goes on",
        "h1 INTRODUCTION",
        "p The prose below a heading in capitals.",
        "code code = 1\n\n## more code",
        "row | a | b |",
        "row | c | d |",
        "h1 Underlined",
        "code x = f(y); z = {1}",
        "li1 The first item of a list.",
        "li1 The second item.",
        "h2 A heading below",
        "p A short last line",
    ]
    assert spans(UNMARKED)[::2] == ["h1 A title", "h2 2.1. A numbered heading", "h2 A short heading"]
    assert spans(UNMARKED)[1::2] == [f"p {PARAGRAPH}"] * 3


@pytest.mark.parametrize("text", [TEXT, UNMARKED, "x", "```\nopen", "# a\n\n# b\nc", "a\r\n\r\n b\r\n", "1.\ta\n\tb\n"])
def test_rows_and_files_have_the_same_parts(text: str) -> None:
    blocks, parts = list(text_blocks(text)), [block for block, _ in text_spans(text)]
    assert [(block.kind, block.level) for block in blocks] == [(part.kind, part.level) for part in parts]
    assert [block.text.split() for block in blocks] == [part.text.replace("|", " ").split() for part in parts]


@pytest.mark.parametrize("text", ["", "\n\n", TEXT, "| a\n- b\n\n\n===\n"])
def test_parts_are_in_order(text: str) -> None:
    found = list(text_spans(text))
    assert all(text.startswith(block.text, start) for block, start in found)
    assert all(start + len(block.text) <= behind for (block, start), (_, behind) in pairwise(found))


def headings(text: str) -> list[str]:
    return [block.text for block, _ in text_spans(text) if block.kind == "heading"]


def test_short_lines_are_no_headings_where_headings_are_marked() -> None:
    text = f"# A title\n\nA short line\n\n{PARAGRAPH}\n\n2.1. A number\n\n{PARAGRAPH}\n\n## Another\n\nText.\n"
    assert headings(text) == ["A title", "Another"]
    assert headings(text.replace("# ", "", 1)) == ["A title", "A short line", "2.1. A number", "Another"]


def test_comments_are_no_headings() -> None:
    for comment in ["# The name of the host\n# and more\nhost = a", "# The host\n#\n# It waits", "#######\n# ----"]:
        assert not headings(f"{PARAGRAPH}\n\n{comment}\n\n{PARAGRAPH}\n")


def test_printed_pages_are_joined_around_their_headers() -> None:
    pages = "\f".join(
        f"Some Manual      {page}\n\n"
        + "".join(
            f"{'abcdef'[page] * row} is a word of a page, and its line goes on to the next,\n" for row in range(1, 30)
        )
        for page in range(6)
    )
    parts = [block.text for block, _ in text_spans(pages) if block.kind == "paragraph"]
    assert [part.split()[0] for part in parts] == ["Some", *"abcdef"]
    assert not any("Some Manual" in part for part in parts[1:])
    assert [text for text in texts("text", pages) if "Some Manual" in text] == ["Some Manual 0"]


def test_kinds_of_parts() -> None:
    for text, expected in [
        (f"{PARAGRAPH}   The host && the gateway   wait.  {PARAGRAPH}   A host waits.", ["paragraph"]),
        (f"{PARAGRAPH}\n\n    make install\n\n{PARAGRAPH}\n", ["paragraph", "code", "paragraph"]),
        (f"M. Dupont waits: {PARAGRAPH}\n\nA. Open the lid.\nB. Close it.\n", ["paragraph", "list_item", "list_item"]),
    ]:
        assert [block.kind for block, _ in text_spans(text)] == expected
