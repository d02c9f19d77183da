"""Markdown of documents: our own reader reads the same blocks from it."""

from dataclasses import astuple
from pathlib import Path

import pytest

from sumpool.documents.document import Document, TextBlock
from sumpool.documents.formats.markdown import as_markdown
from sumpool.documents.read import read_documents
from tests.documents.formats.conftest import outline, read, texts


@pytest.mark.parametrize("line", ["About {} cells.", "<p>About {} cells.</p>", "- **About** {} cells."])
def test_exponents_and_bases_are_apart_from_their_numbers(line: str) -> None:
    text = line.format("10<sup>6</sup> or 10<SUP>-3</SUP> or 1<sub>2</sub>, 1<sup>st</sup>")
    assert texts("markdown", text) == ["About 10^6 or 10^-3 or 1_2, 1st cells."]


def test_blocks() -> None:
    for text, expected in [
        (
            'A *b* **c** `d  e` [f](https://x.org "g") <https://h.example>[^1] ~~i~~ j<br>k &amp; ![l](m.png)\\*\n',
            ["p A b c d e f https://h.example i j k & *"],
        ),
        ("---\n\nA rule\n\n---\n", ["p A rule"]),
        (
            "- a\n- b\n\n  more\n  1. c\n\n- [Part](#part)\n- [Page](page.md)\n",
            ["li1 a", "li1 b", "li1 more", "li2 c", "notice Part", "li1 Page"],
        ),
        (
            "Prose about birds.\n\n**Table 2.** Birds by size.\n\nTable 2 lists all birds.\n",
            ["p Prose about birds.", "caption Table 2. Birds by size.", "p Table 2 lists all birds."],
        ),
        ("========\nComposer\n========\n\nA library.\n", ["h1 Composer", "p A library."]),
        ("<div>\nA\n<pre><code>a = 1\n  b &lt; 2\n</code></pre>\nB\n</div>\n", ["p A", "code a = 1\n  b < 2", "p B"]),
        ("Wow!!! Great news", ["p Wow!!! Great news"]),
        ("```{code-block} python\nx\n```", ["code x"]),
        ("a\n===", ["h1 a"]),
        ("[![a](b.svg)](c) | [![d](e.svg)](f)\n\n<!-- hidden\nlines -->\n\nText.\n", ["p Text."]),
        ('<p align="center"><img src="x.png"><b>Bold</b> &copy; text</p>\n', ["p Bold \u00a9 text"]),
        ("<script>run()</script>\n\n[^1]: A footnote.\n", ["p A footnote."]),
    ]:
        assert outline("markdown", text) == expected


def test_title_is_that_of_the_front_matter_or_the_first_heading() -> None:
    for text, title, line in [
        ("---\ntitle: 'Birds'\ntags: [a]\n---\n\n# Other\n", "Birds", 6),
        ('+++\ntitle = "Birds"\n+++\nText', "Birds", 4),
        ("Text\n\n## First\n", "First", 1),
        ("The composer is a library for packets.\n\n# Usage\n", "", 1),
    ]:
        parsed = read("markdown", text)
        assert (parsed.title, parsed.blocks[0].line) == (title, line)


def test_code_tables_and_headings_are_apart() -> None:
    text = "# A {#a}\n\nB\n-\n\n```py\nx = [\n  1]\n```\n\n    y\n\n| c | d |\n|---|---|\n| *e* | |\n\n> f\n"
    assert outline("markdown", text) == ["h1 A", "h2 B", "code x = [\n  1]", "code y", "row c | d", "row e", "p f"]
    assert [block.line for block in read("markdown", text).blocks] == [1, 3, 6, 11, 13, 15, 17]


BOX = "Never open the lid while the pump is running."


def test_text_of_boxes_is_read_and_their_marks_are_not() -> None:
    for markup, title in [
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
    ]:
        text = f"# Pump\n\nThe pump is old.\n{markup.format(BOX)}\n\nThe tank is full.\n"
        caption = [f"caption {title}"] if title else []
        expected = ["h1 Pump", "p The pump is old.", *caption, f"p {BOX}", "p The tank is full."]
        assert outline("markdown", text) == expected
        lines = text.split("\n")
        for block in read("markdown", text).blocks:
            assert block.line is not None
            assert block.text in lines[block.line - 1]


def test_boxes_stand_in_lists_and_in_each_other_and_not_in_code() -> None:
    listed = "- One\n\n    !!! note\n        Here.\n\n        ```\n        !!! no box\n        ```\n\n    More of it.\n"
    assert outline("markdown", listed) == ["li1 One", "li1 Here.", "code !!! no box", "li1 More of it."]
    nested = '!!! tip\n\n    Outer.\n\n    ??? note "Inner"\n\n        Deep.\n\nBehind.\n'
    assert outline("markdown", nested) == ["p Outer.", "caption Inner", "p Deep.", "p Behind."]


def test_bold_lines_that_stand_alone_are_headings() -> None:
    text = "## Use\n\n**Of the pump:**\n\nIt is **old**.\n\n**It leaks.**\n\n**Bold** start\n\n- **item**\n\n**Last**\n"
    expected = ["h2 Use", "h3 Of the pump", "p It is old.", "p It leaks.", "p Bold start", "li1 item", "p Last"]
    assert outline("markdown", text) == expected


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
    again = read("markdown", as_markdown(document))
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
