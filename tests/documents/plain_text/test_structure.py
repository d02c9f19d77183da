from itertools import pairwise

import pytest

from sumpool.documents.formats.text import text_blocks, text_spans

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
    return [(span.kind, span.level, text[span.start : span.end]) for span in text_spans(text)]


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
        assert all(first.end <= second.start for first, second in pairwise(text_spans(text)))


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


def test_initials_are_no_marks_of_items() -> None:
    text = f"M. Dupont waits: {PARAGRAPH}\n\nA. Open the lid.\nB. Close it.\n"
    assert [kind for kind, _, _ in spans(text)] == ["paragraph", "list_item", "list_item"]


def test_a_range_stays_whole_at_a_line_end() -> None:
    lines = ["The survey of the river by the office is on the pages 737\u2013", "749 of the report \u2013", "3 boats."]
    (block,) = text_blocks("\n".join(lines))
    assert block.text.partition("pages ")[2] == "737\u2013749 of the report \u2013 3 boats."
