from contextlib import suppress

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, ParsedDocument
from sumpool.documents.formats.html import parse


def read(markup: str | bytes) -> ParsedDocument:
    content = markup if isinstance(markup, bytes) else markup.encode()
    return parse(content, DEFAULT_OPTIONS)


def shapes(markup: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in read(markup).blocks]


PROSE = "The committee met on Monday and agreed on the budget of the coming year after a long debate. " * 3


class TestStructure:
    def test_headings_paragraphs_and_lists_become_blocks(self) -> None:
        markup = "<h1>Water</h1><p>First\n part.<ul><li>one<ul><li><p>deep</ul><li>two</ul><dl><dt>Term<dd>Meaning</dl>"
        assert shapes(markup) == [
            ("heading", 1, "Water"),
            ("paragraph", 0, "First part."),
            ("list_item", 1, "one"),
            ("list_item", 2, "deep"),
            ("list_item", 1, "two"),
            ("list_item", 1, "Term"),
            ("paragraph", 0, "Meaning"),
        ]

    def test_rows_of_tables_are_not_glued_to_sentences(self) -> None:
        markup = "<table><caption>Sizes</caption><tr><th>Name<th>Size</tr><tr><td>a<td><p>1</p></tr></table>after"
        assert shapes(markup) == [
            ("caption", 0, "Sizes"),
            ("table_row", 0, "Name | Size"),
            ("table_row", 0, "a | 1"),
            ("paragraph", 0, "after"),
        ]

    def test_layout_table_gives_the_blocks_of_its_cells(self) -> None:
        markup = f"<table><tr><td>Menu</td><td><h2>News</h2><p>{PROSE}</p></td></tr></table>"
        assert [kind for kind, _, _ in shapes(markup)] == ["table_row", "heading", "paragraph"]

    def test_code_keeps_its_lines(self) -> None:
        assert shapes("<pre>\n  a = 1\n  b<span class=linenos>2</span><br>c</pre>") == [("code", 0, "  a = 1\n  b\nc")]

    def test_preformatted_text_of_a_whole_page_is_read_as_text(self) -> None:
        document = read(f"<h1>Notes</h1>\n<pre>\n1. Rain\n\n{PROSE}\n\n{PROSE}\n\n{PROSE}\n\n{PROSE}\n</pre>")
        assert [block.kind for block in document.blocks] == ["heading", "heading", *["paragraph"] * 4]
        assert [block.line for block in document.blocks[:3]] == [1, 2, 4]

    def test_two_line_breaks_end_a_paragraph(self) -> None:
        assert [text for _, _, text in shapes("one<br>two<br> <br/>three")] == ["one two", "three"]

    def test_marks_of_footnotes_and_permanent_links_are_left_out(self) -> None:
        markup = '<h2>Rain<a href="#rain">¶</a></h2><p>It rains<sup><a href="#f1">[1]</a></sup> a <a href="#x">lot</a>.'
        assert [text for _, _, text in shapes(markup)] == ["Rain", "It rains a lot."]

    def test_lines_of_the_source_are_kept(self) -> None:
        assert [block.line for block in read("<p>one</p>\n\n<p>two</p>").blocks] == [1, 3]

    def test_title_is_the_heading_that_the_page_title_contains(self) -> None:
        for head, title in [
            ("<title>Water - The Site</title>", "Water"),
            ("<title>Other</title>", "Other"),
            ("", "Water"),
        ]:
            assert read(f"<html><head>{head}</head><body><h1>Water</h1><p>x").title == title

    def test_name_of_the_site_is_no_title(self) -> None:
        head = '<title>Rain falls | The Site</title><meta property="og:site_name" content="The Site">'
        for headings, title in (("", "Rain falls | The Site"), ("<h2>Rain falls</h2>", "Rain falls")):
            page = f"<html><head>{head}</head><body><h1>The Site</h1>{headings}<p>{PROSE}"
            assert read(page).title == title

    def test_empty_page_has_no_blocks(self) -> None:
        assert read("").blocks == () == read("<html><body>").blocks


class TestBoilerplate:
    def test_parts_of_the_site_and_hidden_text_are_left_out(self) -> None:
        for part in [
            "<nav><a href=/>Home</a> PART</nav>",
            "<footer>PART</footer>",
            "<div class='cookie-banner'>We use cookies PART</div>",
            "<div id=sidebar-left><p>PART</p></div>",
            "<form><p>Search PART</p><input></form>",
            "<script>PART</script>",
            "<noscript>PART</noscript>",
            "<template><p>PART</p></template>",
            "<p hidden>PART</p>",
            "<p aria-hidden='true'>PART</p>",
            "<p style='color:red; display : none'>PART</p>",
            "<p style='visibility:hidden'>PART</p>",
            "<p class=ghost>PART</p>",
            "<div role=navigation>PART</div>",
            "<p><a href=a>Previous</a> | <a href=b>PART</a> | <a href=c>Next</a></p>",
            "<table class=navheader><tr><td><a href=a>PART</a></table>",
            "<button>PART</button>",
            "<div class=sidebar><ul><li><a href=a>PART</a></ul></div>",
            "<p><a href=a>&lt;-previous</a><a href=b>PART</a></p>",
        ]:
            style = "<style>@media print {.text {display: none}} .ghost, .other { display:none }</style>"
            document = read(f"<html><head>{style}<body><h1>A</h1><p class=text>{PROSE}</p>{part}<p>end</p>")
            assert [block.text for block in document.blocks] == ["A", PROSE.strip(), "end"]

    def test_only_the_main_region_is_read(self) -> None:
        blocks = read(f"<body><div>Site</div><main><p>{PROSE}</p></main><div>More</div>").blocks
        assert [block.text for block in blocks] == [PROSE.strip()]

    def test_part_with_most_of_the_page_is_its_text(self) -> None:
        for start in ["<form>", "<div class=sidebar>", "<div class=toc>"]:
            assert len(read(f"{start}<p>{PROSE}").blocks) == 1

    def test_box_of_docbook_and_notes_are_kept(self) -> None:
        note = "<aside class=footnote><p><a href=a>Source</a></p></aside>"
        markup = f"<p>{PROSE}</p><div class=sidebar><p>TIP</p></div>{note}"
        assert [block.text for block in read(markup).blocks] == [PROSE.strip(), "TIP", "Source"]

    def test_section_whose_address_names_a_part_of_a_site_is_kept(self) -> None:
        markup = f"<p>{PROSE}</p><div id=menu-subscription><h2>Menus</h2><p>Text.</p></div>"
        assert [block.text for block in read(markup).blocks] == [PROSE.strip(), "Menus", "Text."]

    def test_title_of_the_site_is_left_out(self) -> None:
        markup = f"<h1 id=header><a href=/>The Site</a></h1><h1>Rain</h1><p>{PROSE}</p>"
        assert [block.text for block in read(markup).blocks] == ["Rain", PROSE.strip()]

    def test_long_heading_is_a_paragraph(self) -> None:
        assert [block.kind for block in read(f"<h2>{PROSE}</h2>").blocks] == ["paragraph"]

    def test_legal_notice_is_a_notice(self) -> None:
        assert shapes("<div class=legalnotice><p>All rights reserved.</p></div>") == [
            ("notice", 0, "All rights reserved.")
        ]


class TestCharacterSets:
    def test_declared_character_set_is_used(self) -> None:
        for content, text in [
            ("<meta charset=windows-1251><p>Привет".encode("cp1251"), "Привет"),
            ('<?xml version="1.0" encoding="ISO-8859-15"?><p>100 €'.encode("iso8859-15"), "100 €"),
            ("<meta charset=iso-8859-1><p>“quoted”".encode("cp1252"), "“quoted”"),
            ("\ufeff<meta charset=latin1><p>süß".encode(), "süß"),
            ("<meta charset=utf-7><p>süß".encode(), "süß"),
            ("<meta charset=shift_jis><p>日本".encode("shift_jis"), "日本"),
        ]:
            assert [block.text for block in read(content).blocks] == [text]


class TestHostileMarkup:
    def test_thousands_of_attributes_are_cut(self) -> None:
        attributes = " ".join(f"a{number}=1" for number in range(100_000))
        assert [block.text for block in read(f"<p {attributes}>x").blocks] == ["x"]

    @pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.slow)])
    def test_repeated_markup_is_read(self, count: int) -> None:
        """Patterns that go back and forth would take minutes for it."""
        parts = ["<table><tr><td>x", "<blockquote type=cite>", "<b><font size=1>x", "<ul><li>x", "<a href=#a><sup>1"]
        parts += ["<div id=nav><h2>x", "<br>", "<!--", "<p>x</div></b>", "<style>@media a{", "<x y/>", "&amp;&nbsp;"]
        for part in [*parts, "<"]:
            for start in ("<html xmlns='http://www.w3.org/1999/xhtml'>", ""):
                with suppress(ValueError):
                    assert read(f"{start}<p>x{part * count}").blocks, part

    def test_long_script_keeps_its_end(self) -> None:
        script = "if (a <b " + "&& c " * 10_000
        assert [block.text for block in read(f"<p>a</p><script>{script}</script><p>b").blocks] == ["a", "b"]

    def test_thousands_of_levels_are_refused(self) -> None:
        with pytest.raises(ValueError, match="must nest its elements at most 2,048 levels"):
            read("<div>" * 100_000 + "x")

    def test_deep_markup_keeps_its_text_in_order(self) -> None:
        markup = "<div>a" * 1500 + "middle" + "b</div>" * 1500
        text = "".join(block.text for block in read(markup).blocks)
        assert text == "a" * 1500 + "middle" + "b" * 1500

    def test_self_closed_title_of_xhtml_does_not_swallow_the_page(self) -> None:
        markup = (
            '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/></head><body><p>text</p></body>'
        )
        assert [block.text for block in read(markup).blocks] == ["text"]
