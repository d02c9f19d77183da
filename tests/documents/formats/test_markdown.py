"""Markdown of documents: our own reader reads the same blocks from it."""

from dataclasses import astuple
from pathlib import Path

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, Document, TextBlock
from sumpool.documents.formats import load_format
from sumpool.documents.formats.markdown import as_markdown, parse
from sumpool.documents.read import read_documents


def blocks(text: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in parse(text.encode(), DEFAULT_OPTIONS).blocks]


@pytest.mark.parametrize("line", ["About {} cells.", "<p>About {} cells.</p>", "- **About** {} cells."])
def test_exponents_and_bases_are_apart_from_their_numbers(line: str) -> None:
    (block,) = parse(
        line.format("10<sup>6</sup> or 10<SUP>-3</SUP> or 1<sub>2</sub>, 1<sup>st</sup>").encode(), DEFAULT_OPTIONS
    ).blocks
    assert block.text == "About 10^6 or 10^-3 or 1_2, 1st cells."


def test_inline_markup_is_reduced_to_its_text() -> None:
    text = 'A *b* **c** `d  e` [f](https://example.com "g") <https://h.example>[^1] ~~i~~ j<br>k &amp; ![l](m.png)\\*\n'
    assert blocks(text) == [("paragraph", 0, "A b c d e f https://h.example i j k & *")]


def test_front_matter_gives_the_title() -> None:
    parsed = parse(b"---\ntitle: 'Birds'\ntags: [a]\n---\n\n# Other\n", DEFAULT_OPTIONS)
    assert (parsed.title, parsed.blocks[0].line) == ("Birds", 6)
    assert parse(b'+++\ntitle = "Birds"\n+++\nText', DEFAULT_OPTIONS).title == "Birds"
    assert parse(b"Text\n\n## First\n", DEFAULT_OPTIONS).title == "First"
    assert blocks("---\n\nA rule\n\n---\n") == [("paragraph", 0, "A rule")]


def test_badges_comments_and_containers_are_left_out() -> None:
    text = """
[![a](b.svg)](c) | [![d](e.svg)](f)

![A picture](g.png)

<!-- hidden
lines -->

:::note
Inside.
:::

<p align="center"><img src="x.png"><b>Bold</b> &copy; text</p>
<script>run()</script>

[^1]: A footnote.
"""
    texts = [content for _, _, content in blocks(text)]
    assert texts[-2:] == ["Bold \u00a9 text", "A footnote."]
    assert not any("hidden" in content or "svg" in content or "run" in content for content in texts)


def test_lists_have_levels_and_links_into_the_document_are_contents() -> None:
    text = "- a\n- b\n\n  more\n  1. c\n\n- [Part](#part)\n- [Page](page.md)\n"
    assert blocks(text) == [
        ("list_item", 1, "a"),
        ("list_item", 1, "b"),
        ("list_item", 1, "more"),
        ("list_item", 2, "c"),
        ("notice", 0, "Part"),
        ("list_item", 1, "Page"),
    ]


def test_code_tables_and_headings_are_apart() -> None:
    text = "# A {#a}\n\nB\n-\n\n```py\nx = [\n  1]\n```\n\n    y\n\n| c | d |\n|---|---|\n| *e* | |\n\n> f\n"
    assert blocks(text) == [
        ("heading", 1, "A"),
        ("heading", 2, "B"),
        ("code", 0, "x = [\n  1]"),
        ("code", 0, "y"),
        ("table_row", 0, "c | d"),
        ("table_row", 0, "e"),
        ("paragraph", 0, "f"),
    ]
    assert [block.line for block in parse(text.encode(), DEFAULT_OPTIONS).blocks] == [1, 3, 6, 11, 13, 15, 17]


def test_the_line_above_a_heading_is_none_of_it() -> None:
    assert blocks("========\nComposer\n========\n\nA library.\n")[0] == ("heading", 1, "Composer")


def test_a_heading_after_prose_is_no_title() -> None:
    assert parse(b"The composer is a library for packets.\n\n# Usage\n", DEFAULT_OPTIONS).title == ""


def test_captions_are_no_prose() -> None:
    text = "Prose about birds.\n\n**Table 2.** Birds by size.\n\nTable 2 lists all birds.\n"
    assert [kind for kind, _, _ in blocks(text)] == ["paragraph", "caption", "paragraph"]


BOX = "Never open the lid while the pump is running."


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ('!!! danger "Risk of death"\n    {}', "Risk of death"),
        ("!!! danger\n\n    {}", ""),
        ('!!! danger ""\n    {}', ""),
        ('???+ note "More"\n    {}', "More"),
        ("!!! note inline end\n\t{}", ""),
        ('=== "Linux"\n \n    {}', "Linux"),
        (":::warning Attention\n{}\n:::", "Attention"),
        ("::: tip\n{}\n :::", ""),
        (":::note[Your title]{{.x}}\n\n{}\n\n:::", "Your title"),
        ("::: {{.callout-note}}\n{}\n:::", ""),
        (":::{{admonition}} Of pumps\n:class: tip\n{}\n:::", "Of pumps"),
        ("```{{warning}}\n{}\n```", ""),
        ("> [!WARNING]\n> {}", ""),
        ("> [!note]- Folded\n> {}", "Folded"),
    ],
)
def test_text_of_boxes_is_read_and_their_marks_are_not(markup: str, title: str) -> None:
    text = f"# Pump\n\nThe pump is old.\n{markup.format(BOX)}\n\nThe tank is full.\n"
    caption = [("caption", 0, title)] if title else []
    assert blocks(text) == [
        ("heading", 1, "Pump"),
        ("paragraph", 0, "The pump is old."),
        *caption,
        ("paragraph", 0, BOX),
        ("paragraph", 0, "The tank is full."),
    ]
    lines = text.split("\n")
    for block in parse(text.encode(), DEFAULT_OPTIONS).blocks:
        assert block.line is not None
        assert block.text in lines[block.line - 1]


def test_boxes_stand_in_lists_and_in_each_other_and_not_in_code() -> None:
    text = """
- Item one

    !!! note
        In the item.

        ```
        !!! no box
        ```

    More of it.

!!! tip

    Outer.

    ??? note "Inner"

        Deep.

Behind.
"""
    assert blocks(text) == [
        ("list_item", 1, "Item one"),
        ("list_item", 1, "In the item."),
        ("code", 0, "!!! no box"),
        ("list_item", 1, "More of it."),
        ("paragraph", 0, "Outer."),
        ("caption", 0, "Inner"),
        ("paragraph", 0, "Deep."),
        ("paragraph", 0, "Behind."),
    ]


def test_lines_that_only_resemble_boxes_are_kept() -> None:
    for text, kind in [
        ("Wow!!! Great news", "paragraph"),
        ("```{code-block} python\nx\n```", "code"),
        ("a\n===", "heading"),
    ]:
        assert [block[0] for block in blocks(text)] == [kind]


def test_bold_lines_that_stand_alone_are_headings() -> None:
    text = "## Use\n\n**Of the pump:**\n\nIt is **old**.\n\n**It leaks.**\n\n**Bold** start\n\n- **item**\n\n**Last**\n"
    assert blocks(text) == [
        ("heading", 2, "Use"),
        ("heading", 3, "Of the pump"),
        ("paragraph", 0, "It is old."),
        ("paragraph", 0, "It leaks."),
        ("paragraph", 0, "Bold start"),
        ("list_item", 1, "item"),
        ("paragraph", 0, "Last"),
    ]


def test_preformatted_html_is_code() -> None:
    text = "<div>\nAbove\n<pre><code>a = 1\n  b &lt; 2\n</code></pre>\nBelow\n</div>\n"
    assert blocks(text) == [("paragraph", 0, "Above"), ("code", 0, "a = 1\n  b < 2"), ("paragraph", 0, "Below")]


SAMPLES = Path(__file__).parent / "samples"
HOSTILE = Document(
    "a",
    "",
    title="On <lists>",
    blocks=(
        TextBlock("deep at once", "list_item", 3, 1),
        TextBlock("* 1. a_b_ [x](y) `z`", "list_item", 1, 1),
        TextBlock("- below", "list_item", 2, 2),
        TextBlock("=== Not a tab", "paragraph", 0, 2),
        TextBlock("::: | &amp; <b> ---", "paragraph", 0, 2),
        TextBlock("---", "paragraph", 0, 2),
        TextBlock("# Six", "heading", 6, 2),
        TextBlock("| b", "table_row", 0, 3),
        TextBlock("c | | d", "table_row", 0, 3),
        TextBlock("```x\n\n  | y\n````", "code", 0, 3),
        TextBlock("By the editors", "caption", 0, 3),
        TextBlock("All rights reserved.", "notice", 0, 4),
        TextBlock("Prose again.", "paragraph", 0, 4),
    ),
)


def _shapes(document: Document) -> list[tuple[object, ...]]:
    return [astuple(block)[:4] for block in document.blocks]


@pytest.mark.parametrize("name", ["rfc.txt", "html.html", "docx.docx", "pdf.pdf", "rst.rst", "xlsx.xlsx", "hostile"])
def test_blocks_are_read_again(name: str) -> None:
    document = HOSTILE if name == "hostile" else next(iter(read_documents(str(SAMPLES / name))))
    assert document.blocks, document.error
    again = load_format("markdown").parse(as_markdown(document).encode(), DEFAULT_OPTIONS)
    assert _shapes(Document.from_parsed("", again)) == _shapes(document)
    assert again.title == document.title


def test_structure_is_that_of_markdown() -> None:
    lines = as_markdown(HOSTILE).split("\n")
    assert lines[:8] == [
        "---", 'title: "On <lists>"', "---", "", "<!-- page 1 -->", "", "- - - deep at once",
        r"- \* 1. a_b\_ \[x\](y) \`z\`",
    ]  # fmt: skip
    assert "|  | b |  |\n| --- | --- | --- |\n| c |  | d |" in as_markdown(HOSTILE)
    assert as_markdown(Document("a", "One\nline.\n\n# Two")) == "One line.\n\n\\# Two"
