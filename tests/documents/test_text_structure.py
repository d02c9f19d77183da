from itertools import pairwise

from sumpool.documents.text_structure import text_spans

PARAGRAPH = "A paragraph of more than seventy-five characters in one line, so that short lines above are headings."
TEXT = f"""# A title

Some prose
in two lines.
- the first item
- the second item
  goes on

INTRODUCTION
The prose below a heading in capitals.

2.1. A numbered heading

{PARAGRAPH}

```
code = 1

## more code
```

| a | b |
|---|---|
| c | d |

Underlined
==========

A short heading

{PARAGRAPH}

    x = f(y); z = {{1}}

1. The first item of a list.

2. The second item.

A short last line
"""


def test_parts_have_kinds_and_levels() -> None:
    assert [(span.kind, span.level, TEXT[span.start : span.end].split("\n")[0]) for span in text_spans(TEXT)] == [
        ("heading", 1, "# A title"),
        ("paragraph", 0, "Some prose"),
        ("list_item", 0, "- the first item"),
        ("list_item", 0, "- the second item"),
        ("heading", 1, "INTRODUCTION"),
        ("paragraph", 0, "The prose below a heading in capitals."),
        ("heading", 2, "2.1. A numbered heading"),
        ("paragraph", 0, PARAGRAPH),
        ("code", 0, "```"),
        ("table_row", 0, "| a | b |"),
        ("table_row", 0, "|---|---|"),
        ("table_row", 0, "| c | d |"),
        ("heading", 1, "Underlined"),
        ("heading", 1, "=========="),
        ("heading", 2, "A short heading"),
        ("paragraph", 0, PARAGRAPH),
        ("code", 0, "    x = f(y); z = {1}"),
        ("list_item", 0, "1. The first item of a list."),
        ("list_item", 0, "2. The second item."),
        ("paragraph", 0, "A short last line"),
    ]


def test_parts_hold_every_visible_character_in_order() -> None:
    for text in [TEXT, "", "\n\n", "x", "```\nopen", "# a\n# b\nc", "| a\n- b\n\n\n===\n", "a\r\n\r\nb\r\n"]:
        spans = text_spans(text)
        assert all(first.end <= second.start for first, second in pairwise(spans))
        assert "".join("".join(text[span.start : span.end].split()) for span in spans) == "".join(text.split())


def headings(text: str) -> list[str]:
    return [text[span.start : span.end] for span in text_spans(text) if span.kind == "heading"]


def test_short_lines_are_no_headings_where_headings_are_marked() -> None:
    text = f"# A title\n\nA short line\n\n{PARAGRAPH}\n\n2.1. A number\n\n{PARAGRAPH}\n\n## Another\n\nText.\n"
    assert headings(text) == ["# A title", "## Another"]
    assert headings(text.replace("#", "")) == ["A short line", "2.1. A number"]


def test_initials_are_no_marks_of_items() -> None:
    text = f"M. Dupont waits: {PARAGRAPH}\n\nA. Open the lid.\nB. Close it.\n"
    assert [span.kind for span in text_spans(text)] == ["paragraph", "list_item", "list_item"]
