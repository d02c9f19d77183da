import subprocess
import sys
import time
from contextlib import suppress

import pytest

from sumpool.documents.decoding import decode_declared
from sumpool.documents.document import DEFAULT_OPTIONS, ParsedDocument
from sumpool.documents.formats import html
from sumpool.documents.formats.html import declares_article, parse
from sumpool.documents.markup import parse_markup


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
        assert shapes("<p>Ships <span class=pagenum>[2]</span>wait.") == [("paragraph", 0, "Ships wait.")]
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

    @pytest.mark.parametrize(
        ("markup", "text"),
        [
            ("before the breakwater.<sup>1</sup> The council asked", "before the breakwater. The council asked"),
            ("the breakwater<sup>12</sup> and the mole", "the breakwater and the mole"),
            ("the <em>breakwater</em><sup>2,3</sup> and", "the breakwater and"),
            ("said “no”<sup>a</sup> and left", "said “no” and left"),
            ("the mole (new)<sup>[4]</sup> is", "the mole (new) is"),
            ("J. Roe<sup>†</sup> and", "J. Roe and"),
            ("12 km<sup>2</sup> of H<sub>2</sub>O", "12 km2 of H2O"),
            ("10<sup>6</sup> and x<sup>n</sup> and 5 m<sup>-1</sup>", "10^6 and xn and 5 m-1"),
            ("10<sup>\u22123</sup> of 2<sup>n</sup>, <b>2</b><sup><i>32</i></sup>", "10^\u22123 of 2^n, 2^32"),
            ("1101<sub>2</sub> or a<sub>2</sub>, SO<sub>4</sub><sup>2-</sup>", "1101_2 or a2, SO4^2-"),
            ("up to 1<sup>1</sup>/<sub>4</sub> inch, <sup>1</sup>\u2044<sub>2</sub>", "up to 1 1/4 inch, 1\u20442"),
            ("the 1<sup>st</sup> of May and M<sup>me</sup> Roe", "the 1st of May and Mme Roe"),
        ],
    )
    def test_raised_marks_behind_sentences_and_words_are_left_out(self, markup: str, text: str) -> None:
        assert shapes(f"<p>{markup}</p>") == [("paragraph", 0, text)]

    def test_lines_of_the_source_are_kept(self) -> None:
        assert [block.line for block in read("<p>one</p>\n\n<p>two</p>").blocks] == [1, 3]

    def test_title_is_the_heading_that_the_page_title_contains(self) -> None:
        for head, title in [
            ("<title>Water - The Site</title>", "Water"),
            ("<title>Other</title>", "Other"),
            ("<title>a-10k_2021.htm</title>", "Water"),
            ("<title>Converting a.htm</title>", "Converting a.htm"),
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

    def test_author_and_date_of_an_article_are_notices(self) -> None:
        for names in ("byline", "entry-meta", "post-meta clear"):
            kinds = [
                kind for kind, _, _ in shapes(f"<div class='{names}'><p>By Ann Roe, our correspondent.</div><p>{PROSE}")
            ]
            assert kinds == ["notice", "paragraph"]

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

    @pytest.mark.parametrize(
        ("label", "codec", "text"),
        [
            ("gb2312", "gb18030", "朱镕基总理宣布"),
            ("x-gbk", "gb18030", "朱镕基€"),
            ("shift_jis", "cp932", "髙橋さんが①予算②人員"),
            ("x-sjis", "cp932", "㈱山﨑"),
            ("euc-kr", "cp949", "똠방각하의 작가는 펲시를"),
            ("ks_c_5601-1987", "cp949", "똠방각하"),
            ("big5", "big5hkscs", "佢哋話唔開"),
            ("tis-620", "cp874", "“โครงการ”"),
            ("windows-874", "cp874", "“โครงการ”"),
            ("iso-8859-11", "cp874", "“โครงการ”…"),
        ],
    )
    def test_narrow_labels_stand_for_the_character_sets_of_windows(self, label: str, codec: str, text: str) -> None:
        markup = f"<meta charset={label}><p>{text} " + "plain words " * 60
        parsed = read(markup.encode(codec))
        assert parsed.blocks[0].text.startswith(text)
        assert not parsed.notes

    @pytest.mark.parametrize("text", ["①予算②人員", "髙橋さん", "㈱山﨑", "日本語"])
    def test_japanese_rows_of_windows_are_read(self, text: str) -> None:
        """Each pair of bytes is moved from Shift-JIS to the rows of ISO-2022-JP and EUC-JP, as mail programs do."""
        rows = bytearray()
        for character in text:
            lead, trail = character.encode("cp932")
            row = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 2 + 0x21 + (trail >= 0x9F)
            rows += bytes((row, trail - 0x7E if trail >= 0x9F else trail - 0x1F - (trail > 0x7F)))
        filler = b" plain words" * 60
        for content, label in (
            (b"\x1b$B" + rows + b"\x1b(B", "iso-2022-jp"),
            (bytes(byte | 0x80 for byte in rows), "euc-jp"),
        ):
            assert decode_declared(content + filler, label).text.startswith(text + " plain")

    def test_wrong_bytes_of_japanese_are_counted(self) -> None:
        decoded = decode_declared(b"\x1b$B;T\x7f\x01$O\x1b(B" + b" plain words" * 60, "iso-2022-jp")
        assert decoded.notes


class TestStyleSheets:
    @pytest.mark.parametrize(
        ("sheet", "hides"),
        [
            (".x { display: none }", True),
            ("p, .x, a:hover { color: red; display:none; }", True),
            ("@import 'a.css'; .x { display: none }", True),
            ("/* .y { */ .x { display: none } /* never closed", True),
            ("@media print { .x { display: none } }", False),
            ("@media print { p { color: red } } .x { visibility: hidden }", True),
            ("@font-face { src: url(data:AAAA) } .x { display: none", False),
            ("} .x { display: none }", True),
        ],
    )
    def test_hidden_classes(self, sheet: str, hides: bool) -> None:
        texts = [text for _, _, text in shapes(f"<style>{sheet}</style><p class=x>Menu</p><p>{PROSE}</p>")]
        assert ("Menu" not in texts) == hides

    @pytest.mark.parametrize("part", ["@", "a", "{", "}", "/*", "@media{", "url(data:font/woff2;base64,AAAA"])
    def test_time_is_linear_in_the_size_of_a_sheet(self, part: str) -> None:
        start = time.process_time()
        for _ in range(5):  # as many sheets of the largest size that is read
            page = read(f"<style>.x {{display: none}} {part * (100_000 // len(part))}</style><p>{PROSE}</p>")
            assert page.blocks[0].text.startswith("The committee")
        assert time.process_time() - start < 5


class TestHostileMarkup:
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


SENTENCES = [
    "The harbour office counted forty ships in the first week of the strike, and every one waited for a pilot.",
    "The council asked both sides to return to the table before the end of the month, and the union agreed.",
    "Merchants in the town say that fruit is rotting on the quays, and that the market has been empty for days.",
    "The union wants shorter shifts at night, while the company offers more pay for the same hours of work.",
]
COMMENT = "I waited three hours for my parcel last week, and nobody at the desk could tell me where it was."
TEASER = "Ten recipes with rhubarb that our readers cooked again and again during the long winter of last year."
OG_TYPE = '<meta property="og:type" content="article">'


def page(head: str = OG_TYPE, comments: int = 1) -> str:
    body = "".join(f"<p>{sentence} {sentence.replace('The', 'Every')}</p>" for sentence in SENTENCES)
    said = "".join(f"<li><b>Bo</b><p>{COMMENT} Number {number} of them.</p>" for number in range(comments))
    return (
        f"<!DOCTYPE html><html><head><title>Harbour strike</title>{head}</head><body><nav><a href=/>Home</a></nav>"
        f"<article class=post><h1>Harbour strike</h1><div class=entry-content>{body}"
        f"<h2>What follows</h2><p>The ministers of both countries meet on Friday to speak about the price of bread.</p>"
        f"</div></article><div id=comments class=comments><h2>Comments</h2><ol>{said}</ol></div>"
        f"<div class=related><h3>More stories</h3><p>{TEASER}</p></div></body></html>"
    )


def test_a_standfirst_is_part_of_the_article(monkeypatch: pytest.MonkeyPatch) -> None:
    standfirst = (
        "Why forty ships wait at the quays, and what the council and the union of the pilots want to do about it."
    )
    markup = page().replace("</h1>", f"</h1><div class=teaser><p>By Bo Berg, 1 May</p><p>{standfirst}</p></div>")
    monkeypatch.setattr(html, "_extracted", lambda _: " ".join(SENTENCES))
    texts = [block.text for block in read(markup).blocks]
    assert texts[:2] == ["Harbour strike", standfirst]


@pytest.mark.parametrize("comments", [1, 60])
def test_only_the_article_is_read(comments: int) -> None:
    parsed = read(page(comments=comments))
    text = "\n".join(block.text for block in parsed.blocks)
    assert all(sentence in text for sentence in SENTENCES)
    assert COMMENT not in text
    assert TEASER not in text
    assert parsed.title == "Harbour strike"
    headings = [(block.text, block.level) for block in parsed.blocks if block.kind == "heading"]
    assert headings == [("Harbour strike", 1), ("What follows", 2)]
    assert all(block.line for block in parsed.blocks)


@pytest.mark.parametrize(
    ("head", "is_article"),
    [
        (OG_TYPE, True),
        ('<meta property="article:published_time" content="2026-01-01">', True),
        ('<meta name="Generator" content="WordPress 6.4">', True),
        ('<script type="application/ld+json">{"@type": "NewsArticle"}</script>', True),
        ('<script type="application/ld+json">{"@type": ["BlogPosting"]}</script>', True),
        ('<div itemscope itemtype="https://schema.org/Article"></div>', True),
        ('<meta property="og:type" content="website">', False),
        ('<script type="application/ld+json">{"@type": "Product"}</script>', False),
        ('<script>{"@type": "NewsArticle"}</script>', False),
        ('<meta name="generator" content="Docutils 0.17"><div itemtype="http://schema.org/Article"></div>', False),
        ("", False),
    ],
)
def test_pages_that_declare_an_article(head: str, is_article: bool) -> None:
    assert declares_article(parse_markup(page(head))) == is_article


def test_pages_that_declare_nothing_keep_all_prose() -> None:
    markup = page("").replace("<article", "<div").replace("</article", "</div").replace("related", "box")
    text = "\n".join(block.text for block in read(markup).blocks)
    assert all(sentence in text for sentence in (*SENTENCES, TEASER))


def test_a_lost_half_is_read_by_its_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trafilatura.extract", lambda *_, **__: SENTENCES[0])
    text = "\n".join(block.text for block in read(page()).blocks)
    assert all(sentence in text for sentence in SENTENCES)


@pytest.mark.parametrize("result", ["", None, "Nothing that the page has is in this text, not even three words."])
def test_pages_without_an_article_are_read_by_their_tags(monkeypatch: pytest.MonkeyPatch, result: str | None) -> None:
    monkeypatch.setattr("trafilatura.extract", lambda *_, **__: result)
    monkeypatch.setattr("trafilatura.baseline", lambda *_: (None, "", 0))
    assert read(page()).blocks == read(page("")).blocks


def test_a_failure_of_the_library_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("trafilatura.extract", fail)
    assert read(page()).blocks == read(page("")).blocks


def test_other_pages_do_not_import_the_library() -> None:
    code = (
        "import sys; from sumpool.documents.formats.html import parse; "
        "from sumpool.documents.document import DEFAULT_OPTIONS; parse(b'<p>text', DEFAULT_OPTIONS); "
        "sys.exit('trafilatura' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_prose_in_captions_tables_and_code_stays_between_its_paragraphs() -> None:
    box = "<figure><figcaption>Ships at the mole</figcaption></figure><pre>a = 1</pre><table><tr><td>a<td>b</table>"
    parsed = read(page().replace("<h2>What", f"{box}<h2>What"))
    assert {"caption", "code", "table_row"} <= {block.kind for block in parsed.blocks}


@pytest.mark.parametrize("part", ["<div>a</div>", "<p><b>", "a<br>"])
def test_pages_with_very_many_elements_are_read_without_the_library(part: str) -> None:
    """It takes the square of their number, minutes for a megabyte."""
    start = time.process_time()
    assert read(page().replace("</article>", f"{part * 30_000}</article>")).blocks
    assert time.process_time() - start < 8
