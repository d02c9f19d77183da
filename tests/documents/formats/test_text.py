from itertools import pairwise

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats.text import numbered_lines, parse, text_blocks, text_spans

PROSE = (
    "A paragraph of a text that goes on over the end of its line, because it\n"
    "is too long for one line, and that ends here."
)


def blocks(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in parse(text.encode(), DEFAULT_OPTIONS).blocks]


def kinds(text: str) -> list[str]:
    return [kind for kind, _, _ in blocks(text)]


def test_lines_of_a_paragraph_are_joined() -> None:
    text = "One paragraph that is broken at the end of its lines and at a hy-\nphen, as in a machine-\nreadable text."
    assert blocks(f"{text}\n\nTwo.") == [
        ("paragraph", 0, text.replace("-\n", "-").replace("\n", " ")),
        ("paragraph", 0, "Two."),
    ]


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
        text = f"{PROSE}\n\n{heading}\n\n{PROSE}\n"
        kind, level_of_it, content = blocks(text)[1]
        assert (kind, level_of_it) == ("heading", level)
        assert content in " ".join(heading.split())


def test_levels_follow_underlines() -> None:
    text = f"Title\n=====\n\n{PROSE}\n\nPart\n----\n\n{PROSE}\n\nOther\n=====\n\n{PROSE}\n"
    assert [level for kind, level, _ in blocks(text) if kind == "heading"] == [1, 2, 1]


def test_frames_are_no_text() -> None:
    for mark in "*#":
        rule, empty = 16 * mark, f"{mark}{14 * ' '}{mark}"
        text = f"{rule}\n{empty}\n{mark} About birds  {mark}\n{empty}\n{rule}\n\n{mark} The owl hoots.\n"
        parsed = parse(text.encode(), DEFAULT_OPTIONS)
        assert parsed.title == "About birds"
        assert (parsed.blocks[0].text, parsed.blocks[0].line) == ("About birds", 3)
        assert "The owl hoots." in parsed.blocks[1].text  # behind the frame marks are those of a list


def test_spaces_behind_the_mark_of_an_item_are_no_columns() -> None:
    assert blocks("Birds:\n o    The owl hoots.\n o    The crow caws.\n")[1:] == [
        ("list_item", 1, "The owl hoots."),
        ("list_item", 1, "The crow caws."),
    ]


def test_first_line_is_the_title() -> None:
    parsed = parse(
        b"      A Title in\n   the Middle\n\nText that is longer than it, and ends with a stop.\n", DEFAULT_OPTIONS
    )
    assert parsed.title == "A Title in the Middle"
    assert parse(b"Only one line", DEFAULT_OPTIONS).title == ""


def test_list_items_are_apart() -> None:
    text = """
There are:
  1. one thing, which is
     long enough for two lines;
  2. another.
  * a last (a) thing

- Item

  Its paragraph goes on.
"""
    assert [item for item in blocks(text) if item[0] == "list_item"] == [
        ("list_item", 1, "one thing, which is long enough for two lines;"),
        ("list_item", 1, "another."),
        ("list_item", 1, "a last (a) thing"),
        ("list_item", 1, "Item"),
    ]


def test_versions_with_a_date_are_no_list_items() -> None:
    assert kinds("2.28 (2023-01-16):\n\nSome text of a paragraph.\n")[0] != "list_item"
    assert kinds("2.28 The second item of a section.\n") == ["list_item"]


def test_tables_drawings_and_code_are_no_prose() -> None:
    assert kinds("Name      Size   Date\nls        10     May\ncat       20     June\n") == ["table_row"] * 3
    assert blocks("| a | b |\n| c | d |\n") == [("table_row", 0, "a b"), ("table_row", 0, "c d")]
    assert kinds("+----+    +----+\n| ab |--->| cd |\n+----+    +----+\n") == ["code"]
    code = f"{PROSE}\n\n    for name in names:\n        print(name)\n\n    $ ls -l\n\n{PROSE}"
    assert kinds(code) == ["paragraph", "code", "code", "paragraph"]
    assert blocks(code)[1][2] == "for name in names:\n    print(name)"


def test_fields_and_short_lines_are_not_glued() -> None:
    assert blocks("Name: ls\nVersion: 1\nSummary: lists the files of all the folders\n  that it is given\n")[1:] == [
        ("paragraph", 0, "Version: 1"),
        ("paragraph", 0, "Summary: lists the files of all the folders that it is given"),
    ]
    address = f"{PROSE}\n\nJane Doe\n12 Long Street\nBoston, USA\n"
    assert [text for _, _, text in blocks(address)[1:]] == ["Jane Doe", "12 Long Street", "Boston, USA"]


def test_answers_are_apart_from_their_questions() -> None:
    text = f"Q: Why does the gateway wait?\nA: {PROSE}\n"
    assert [text[:7] for _, _, text in blocks(text)] == ["Q: Why ", "A: A pa"]


def test_lines_without_a_limit_are_paragraphs() -> None:
    line = "A sentence that is written in one line, as editors without hard line breaks do. " * 3
    assert kinds(f"{line}\n{line}\n{line}\n") == ["paragraph"] * 3


def test_indented_first_lines_begin_paragraphs() -> None:
    text = f"   {PROSE}\n   {PROSE}\n   {PROSE}\n"
    assert kinds(text) == ["paragraph"] * 3


def test_printed_pages_are_joined() -> None:
    lines = "\n".join(
        f"Line {number} of a page, which is a line of text that goes on to the next line," for number in range(30)
    )
    pages = "\f".join(f"Some Manual                  {number}\n\n{lines}\n" for number in range(1, 7))
    assert [text for _, _, text in blocks(pages) if "Some Manual" in text] == ["Some Manual 1"]
    assert "\f" not in "".join(text for _, _, text in blocks("Part one\f\nand\f two\n"))


def test_terminal_codes_and_overstrikes_are_removed() -> None:
    assert blocks("\x1b[1mBold\x1b[0m and B\bBo\bol\bld\bd, _\bu here.\n") == [
        ("paragraph", 0, "Bold and Bold, u here.")
    ]


def test_chinese_lines_are_joined_without_spaces() -> None:
    assert blocks("路由器在网络之间转发数据包并且丢弃\n太长的数据包。\n") == [
        ("paragraph", 0, "路由器在网络之间转发数据包并且丢弃太长的数据包。")
    ]


def test_captions_are_no_prose() -> None:
    caption = "Figure 1: Sparse attention matrices. (A) The complete input. (B) Blocks."
    assert kinds(f"{PROSE}\n\n{caption}\n\nFigure 1 shows how the matrices differ from each other.\n\n{PROSE}") == [
        "paragraph",
        "caption",
        "paragraph",
        "paragraph",
    ]


def test_initials_are_no_marks_of_items() -> None:
    for text in (
        "M. Dupont a fermé le pont lundi.",
        "J. Roe, who was there, said that it was closed.",
        "B. Bo sang. C. Di danced.",
    ):
        assert [block[::2] for block in blocks(f"{text}\n\n{text}\n")] == [("paragraph", text)] * 2
    text = f"M. Dupont waits: {PARAGRAPH}\n\nA. Open the lid.\nB. Close it.\n"
    assert [kind for kind, _, _ in spans(text)] == ["paragraph", "list_item", "list_item"]


def test_letters_from_a_on_are_marks_of_items() -> None:
    text = "A. Open the lid of the pump.\nB. Close it again with care.\n\nM. Dupont waits.\n\nC. Call the office.\n"
    assert [block[::2] for block in blocks(text)] == [
        ("list_item", "Open the lid of the pump."),
        ("list_item", "Close it again with care."),
        ("paragraph", "M. Dupont waits."),
        ("list_item", "Call the office."),
    ]


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
    pages = [
        f"May 1981\nSome Protocol\n\nText number {word}.\n\n- {n} -" for n, word in enumerate(["a", "b", "c", "d"])
    ]
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


def test_double_spaced_paragraphs_are_rejoined() -> None:
    lines = lines_of(double_spaced([["     1.  Modems"], *[SENTENCE] * 12]))
    assert lines[:7] == ["     1.  Modems", "", "", *SENTENCE, ""]
    assert [line for line in lines if line] == ["     1.  Modems", *SENTENCE * 12]
    assert lines.count("") == 24


def test_double_spaced_tables_and_list_items_stay_apart() -> None:
    table = [
        "the name of the field       the octets of it in the leader of a message",
        "the number of the host      one octet, the first one of the message",
    ]
    items = ["     o A modem that is deaf to the tones of all the other modems in", "     o another town"]
    lines = lines_of(double_spaced([*[SENTENCE] * 12, table, items]))
    assert lines[-8:] == [table[0], "", table[1], "", "", items[0], "", items[1]]


def test_revision_bars_of_double_spaced_text_are_removed() -> None:
    marked = [f"{line:76}|" for line in SENTENCE]
    lines = lines_of(double_spaced([*[SENTENCE] * 12, marked]))
    assert [line for line in lines if line][-3:] == SENTENCE


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


def spans(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block, _ in text_spans(text)]


def test_a_circled_digit_is_a_mark_of_items_only() -> None:
    alone, listed = "\u2460 is the pump of the ferry, \u2461 the valve.", "\u2460 The pump.\n\n\u2461 The valve."
    assert [(block.kind, block.text) for block in text_blocks(f"Parts are shown.\n\n{alone}")][1:] == [
        ("paragraph", alone)
    ]
    assert [(block.kind, block.text) for block in text_blocks(listed)] == [
        ("list_item", "The pump."),
        ("list_item", "The valve."),
    ]


def test_parts_have_kinds_levels_and_places() -> None:
    assert spans(TEXT) == [
        ("heading", 1, "A title"),
        ("paragraph", 0, "Some prose\nin two lines."),
        ("list_item", 1, "the first item"),
        ("list_item", 1, "the second item\n  goes on"),
        ("heading", 1, "INTRODUCTION"),
        ("paragraph", 0, "The prose below a heading in capitals."),
        ("code", 0, "code = 1\n\n## more code"),
        ("table_row", 0, "| a | b |"),
        ("table_row", 0, "| c | d |"),
        ("heading", 1, "Underlined"),
        ("code", 0, "x = f(y); z = {1}"),
        ("list_item", 1, "The first item of a list."),
        ("list_item", 1, "The second item."),
        ("heading", 2, "A heading below"),
        ("paragraph", 0, "A short last line"),
    ]
    assert [(kind, level) for kind, level, _ in spans(UNMARKED)] == [
        ("heading", 1),
        ("paragraph", 0),
        ("heading", 2),
        ("paragraph", 0),
        ("heading", 2),
        ("paragraph", 0),
    ]


@pytest.mark.parametrize("text", [TEXT, UNMARKED, "x", "```\nopen", "# a\n\n# b\nc", "a\r\n\r\n b\r\n", "1.\ta\n\tb\n"])
def test_rows_and_files_have_the_same_parts(text: str) -> None:
    blocks = list(text_blocks(text))
    assert [(block.kind, block.level) for block in blocks] == [(kind, level) for kind, level, _ in spans(text)]
    for block, (_, _, part) in zip(blocks, spans(text), strict=True):
        assert block.text.split() == part.replace("|", " ").split()


def test_parts_are_in_order() -> None:
    for text in ("", "\n\n", TEXT, "| a\n- b\n\n\n===\n"):
        found = list(text_spans(text))
        assert all(text.startswith(block.text, start) for block, start in found)
        assert all(start + len(block.text) <= behind for (block, start), (_, behind) in pairwise(found))


def headings(text: str) -> list[str]:
    return [part for kind, _, part in spans(text) if kind == "heading"]


def test_short_lines_are_no_headings_where_headings_are_marked() -> None:
    text = f"# A title\n\nA short line\n\n{PARAGRAPH}\n\n2.1. A number\n\n{PARAGRAPH}\n\n## Another\n\nText.\n"
    assert headings(text) == ["A title", "Another"]
    assert headings(text.replace("# ", "", 1)) == ["A title", "A short line", "2.1. A number", "Another"]


def test_comments_are_no_headings() -> None:
    for comment in (
        "# The name of the host\n# and its address\nhost = a",
        "# The host\n#\n# It waits",
        "#######\n# ----",
    ):
        assert not headings(f"{PARAGRAPH}\n\n{comment}\n\n{PARAGRAPH}\n")


def test_pages_of_a_row_are_joined_around_their_headers() -> None:
    pages = [
        f"Some Manual      {page}\n\n"
        + "".join(
            f"{'abcdef'[page] * row} is a word of a page, and its line goes on to the next,\n" for row in range(1, 30)
        )
        for page in range(6)
    ]
    parts = [part for kind, _, part in spans("\f".join(pages)) if kind == "paragraph"]
    assert [part.split()[0] for part in parts] == ["Some", *"abcdef"]
    assert not any("Some Manual" in part for part in parts[1:])


def test_long_lines_are_neither_tables_nor_code() -> None:
    text = f"{PARAGRAPH}   The host && the gateway   wait.  {PARAGRAPH}   A host waits."
    assert [kind for kind, _, _ in spans(text)] == ["paragraph"]


def test_an_indented_line_in_small_letters_is_code() -> None:
    text = f"{PARAGRAPH}\n\n    make install\n\n{PARAGRAPH}\n"
    assert [kind for kind, _, _ in spans(text)] == ["paragraph", "code", "paragraph"]


def test_a_range_stays_whole_at_a_line_end() -> None:
    lines = ["The survey of the river by the office is on the pages 737\u2013", "749 of the report \u2013", "3 boats."]
    (block,) = text_blocks("\n".join(lines))
    assert block.text.partition("pages ")[2] == "737\u2013749 of the report \u2013 3 boats."
