import time
from unittest.mock import Mock

import pytest

from sumpool.documents.decoding import decode_declared
from sumpool.documents.formats import html
from sumpool.documents.formats.html import declares_article
from sumpool.documents.markup import parse_markup
from tests.documents.formats.conftest import outline, read, texts

PROSE = ("The committee met on Monday and agreed on the budget of the coming year after a long debate. " * 3).strip()


def test_structure() -> None:
    for markup, expected in [
        (
            "<h1>Water</h1><p>First\n part.<ul><li>one<ul><li><p>deep</ul><li>two</ul><dl><dt>Term<dd>Meaning</dl>",
            ["h1 Water", "p First part.", "li1 one", "li2 deep", "li1 two", "li1 Term", "p Meaning"],
        ),
        (
            "<table><caption>Sizes</caption><tr><th>Name<th>Size</tr><tr><td>a<td><p>1</p></tr></table>after",
            ["caption Sizes", "row Name | Size", "row a | 1", "p after"],
        ),
        (f"<table><tr><td>a</td><td><h2>News</h2><p>{PROSE}</p></td></tr></table>", ["row a", "h2 News", f"p {PROSE}"]),
        ("<p>Ships <span class=pagenum>[2]</span>wait.", ["p Ships wait."]),
        ("<pre>\n  a = 1\n  b<span class=linenos>2</span><br>c</pre>", ["code   a = 1\n  b\nc"]),
        ("one<br>two<br> <br/>three", ["p one two", "p three"]),
        (
            '<h2>Rain<a href="#rain">¶</a></h2><p>It rains<sup><a href="#f1">[1]</a></sup> a <a href="#x">lot</a>.',
            ["h2 Rain", "p It rains a lot."],
        ),
        ("<div class=legalnotice><p>All rights reserved.</p></div>", ["notice All rights reserved."]),
    ]:
        assert outline("html", markup) == expected


def test_preformatted_text_of_a_whole_page_is_read_as_text() -> None:
    blocks = read("html", f"<h1>Notes</h1>\n<pre>\n1. Rain\n\n{PROSE}\n\n{PROSE}\n\n{PROSE}\n\n{PROSE}\n</pre>").blocks
    assert [block.kind for block in blocks] == ["heading", "heading", *["paragraph"] * 4]
    assert [block.line for block in blocks[:3]] == [1, 2, 4]


def test_raised_marks_behind_sentences_and_words_are_left_out() -> None:
    for markup, text in [
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
    ]:
        assert outline("html", f"<p>{markup}</p>") == [f"p {text}"]


SITE = '<title>Rain falls | The Site</title><meta property="og:site_name" content="The Site">'


def test_title_is_the_heading_that_the_page_title_contains() -> None:
    for head, headings, title in [
        ("<title>Water - The Site</title>", "<h1>Water</h1>", "Water"),
        ("<title>Other</title>", "<h1>Water</h1>", "Other"),
        ("<title>a-10k_2021.htm</title>", "<h1>Water</h1>", "Water"),
        ("<title>Converting a.htm</title>", "<h1>Water</h1>", "Converting a.htm"),
        ("", "<h1>Water</h1>", "Water"),
        (SITE, "<h1>The Site</h1>", "Rain falls | The Site"),
        (SITE, "<h1>The Site</h1><h2>Rain falls</h2>", "Rain falls"),
    ]:
        assert read("html", f"<html><head>{head}</head><body>{headings}<p>{PROSE}").title == title


def test_parts_of_the_site_and_hidden_text_are_left_out() -> None:
    parts = ["<nav><a href=/>Home</a> PART</nav>", "<footer>PART</footer>", "<div id=sidebar-left><p>PART</p></div>"]
    parts += ["<div class='cookie-banner'>We use cookies PART</div>", "<form><p>Search PART</p><input></form>"]
    parts += ["<script>PART</script>", "<noscript>PART</noscript>", "<template><p>PART</p></template>"]
    parts += ["<p hidden>PART</p>", "<p aria-hidden='true'>PART</p>", "<p style='color:red; display : none'>PART</p>"]
    parts += ["<p style='visibility:hidden'>PART</p>", "<p class=ghost>PART</p>", "<div role=navigation>PART</div>"]
    parts += ["<p><a href=a>Previous</a> | <a href=b>PART</a> | <a href=c>Next</a></p>", "<button>PART</button>"]
    parts += [
        "<table class=navheader><tr><td><a href=a>PART</a></table>",
        "<p><a href=a>&lt;-previous</a><a href=b>PART</a>",
    ]
    parts += ["<div class=sidebar><ul><li><a href=a>PART</a></ul></div>", "<h1 id=header><a href=/>Site</a></h1>"]
    style = "<style>@media print {.text {display: none}} .ghost, .other { display:none }</style>"
    for part in parts:
        markup = f"<html><head>{style}<body><h1>A</h1><p class=text>{PROSE}</p>{part}<p>end</p>"
        assert texts("html", markup) == ["A", PROSE, "end"], part


def test_text_is_kept_where_its_part_looks_like_one_of_the_site() -> None:
    for markup, expected in [
        (f"<body><div>Site</div><main><p>{PROSE}</p></main><div>More</div>", [PROSE]),
        (f"<form><p>{PROSE}", [PROSE]),
        (f"<div class=sidebar><p>{PROSE}", [PROSE]),
        (f"<div class=toc><p>{PROSE}", [PROSE]),
        (f"<p>{PROSE}</p><div class=sidebar><p>TIP</p></div>", [PROSE, "TIP"]),
        (f"<p>{PROSE}</p><aside class=footnote><p><a href=a>Source</a></p></aside>", [PROSE, "Source"]),
        (f"<p>{PROSE}</p><div id=menu-list><h2>Menus</h2><p>Text.</p></div>", [PROSE, "Menus", "Text."]),
    ]:
        assert texts("html", markup) == expected


@pytest.mark.parametrize("names", ["byline", "entry-meta", "post-meta clear"])
def test_author_and_date_of_an_article_are_notices(names: str) -> None:
    blocks = read("html", f"<div class='{names}'><p>By Ann Roe, our correspondent.</div><p>{PROSE}").blocks
    assert [block.kind for block in blocks] == ["notice", "paragraph"]


def test_declared_character_set_is_used() -> None:
    for content, text in [
        ("<meta charset=windows-1251><p>Привет".encode("cp1251"), "Привет"),
        ('<?xml version="1.0" encoding="ISO-8859-15"?><p>100 €'.encode("iso8859-15"), "100 €"),
        ("<meta charset=iso-8859-1><p>“quoted”".encode("cp1252"), "“quoted”"),
        ("\ufeff<meta charset=latin1><p>süß".encode(), "süß"),
        ("<meta charset=utf-7><p>süß".encode(), "süß"),
        ("<meta charset=shift_jis><p>日本".encode("shift_jis"), "日本"),
    ]:
        assert texts("html", content) == [text]


def test_narrow_labels_stand_for_the_character_sets_of_windows() -> None:
    for label, codec, text in [
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
    ]:
        parsed = read("html", (f"<meta charset={label}><p>{text} " + "plain words " * 60).encode(codec))
        assert parsed.blocks[0].text.startswith(text)
        assert not parsed.notes


@pytest.mark.parametrize("text", ["①予算②人員", "髙橋さん", "㈱山﨑", "日本語"])
def test_japanese_rows_of_windows_are_read(text: str) -> None:
    """Each pair of bytes is moved from Shift-JIS to the rows of ISO-2022-JP and EUC-JP, as mail programs do."""
    rows = bytearray()
    for character in text:
        lead, trail = character.encode("cp932")
        row = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 2 + 0x21 + (trail >= 0x9F)
        rows += bytes((row, trail - 0x7E if trail >= 0x9F else trail - 0x1F - (trail > 0x7F)))
    for content, label in ((b"\x1b$B" + rows + b"\x1b(B", "iso-2022-jp"), (bytes(b | 0x80 for b in rows), "euc-jp")):
        assert decode_declared(content + b" plain words" * 60, label)[0].startswith(text + " plain")


def test_wrong_bytes_of_japanese_are_counted() -> None:
    assert decode_declared(b"\x1b$B;T\x7f\x01$O\x1b(B" + b" plain words" * 60, "iso-2022-jp")[1]


def test_hidden_classes() -> None:
    for sheet, hides in [
        (".x { display: none }", True),
        ("p, .x, a:hover { color: red; display:none; }", True),
        ("@import 'a.css'; .x { display: none }", True),
        ("/* .y { */ .x { display: none } /* never closed", True),
        ("@media print { .x { display: none } }", False),
        ("@media print { p { color: red } } .x { visibility: hidden }", True),
        ("@font-face { src: url(data:AAAA) } .x { display: none", False),
        ("} .x { display: none }", True),
    ]:
        found = texts("html", f"<style>{sheet}</style><p class=x>Menu</p><p>{PROSE}</p>")
        assert ("Menu" not in found) == hides


@pytest.mark.parametrize("part", ["@", "a", "{", "}", "/*", "@media{", "url(data:font/woff2;base64,AAAA"])
def test_time_is_linear_in_the_size_of_a_sheet(part: str) -> None:
    start = time.process_time()
    for _ in range(5):  # as many sheets of the largest size that is read
        sheet = f"<style>.x {{display: none}} {part * (100_000 // len(part))}</style>"
        assert texts("html", f"{sheet}<p>{PROSE}</p>")[0].startswith("The committee")
    assert time.process_time() - start < 5


def test_thousands_of_levels_are_refused_and_fewer_keep_their_text_in_order() -> None:
    with pytest.raises(ValueError, match="must nest its elements at most 2,048 levels"):
        read("html", "<div>" * 100_000 + "x")
    markup = "<div>a" * 1500 + "middle" + "b</div>" * 1500
    assert "".join(texts("html", markup)) == "a" * 1500 + "middle" + "b" * 1500


def test_neither_a_long_script_nor_a_closed_title_swallows_the_page() -> None:
    script = "if (a <b " + "&& c " * 10_000
    assert texts("html", f"<p>a</p><script>{script}</script><p>b") == ["a", "b"]
    head = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/></head>'
    assert texts("html", f"{head}<body><p>text</p></body>") == ["text"]


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
    assert texts("html", markup)[:2] == ["Harbour strike", standfirst]


@pytest.mark.parametrize("comments", [1, 60])
def test_only_the_article_is_read(comments: int) -> None:
    parsed = read("html", page(comments=comments))
    text = "\n".join(block.text for block in parsed.blocks)
    assert all(sentence in text for sentence in SENTENCES)
    assert COMMENT not in text
    assert TEASER not in text
    assert parsed.title == "Harbour strike"
    headings = [(block.text, block.level) for block in parsed.blocks if block.kind == "heading"]
    assert headings == [("Harbour strike", 1), ("What follows", 2)]
    assert all(block.line for block in parsed.blocks)


def test_pages_that_declare_an_article() -> None:
    for head, is_article in [
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
    ]:
        assert declares_article(parse_markup(page(head))) == is_article


def test_pages_that_declare_nothing_keep_all_prose() -> None:
    markup = page("").replace("<article", "<div").replace("</article", "</div").replace("related", "box")
    text = "\n".join(texts("html", markup))
    assert all(sentence in text for sentence in (*SENTENCES, TEASER))


def test_a_lost_half_is_read_by_its_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trafilatura.extract", lambda *_, **__: SENTENCES[0])
    text = "\n".join(texts("html", page()))
    assert all(sentence in text for sentence in SENTENCES)


@pytest.mark.parametrize(
    "extract",
    [
        Mock(return_value=""),
        Mock(return_value=None),
        Mock(return_value="Nothing that the page has is in this text, not even three words."),
        Mock(side_effect=RecursionError),
    ],
    ids=["empty", "none", "other", "failure"],
)
def test_pages_without_an_article_are_read_by_their_tags(monkeypatch: pytest.MonkeyPatch, extract: Mock) -> None:
    monkeypatch.setattr("trafilatura.extract", extract)
    monkeypatch.setattr("trafilatura.baseline", lambda *_: (None, "", 0))
    assert read("html", page()).blocks == read("html", page("")).blocks


def test_captions_tables_and_code_stay_between_the_paragraphs_of_an_article() -> None:
    box = "<figure><figcaption>Ships at the mole</figcaption></figure><pre>a = 1</pre><table><tr><td>a<td>b</table>"
    parsed = read("html", page().replace("<h2>What", f"{box}<h2>What"))
    assert {"caption", "code", "table_row"} <= {block.kind for block in parsed.blocks}


@pytest.mark.parametrize("part", ["<div>a</div>", "<p><b>", "a<br>"])
def test_pages_with_very_many_elements_are_read_without_the_library(part: str) -> None:
    """It takes the square of their number, minutes for a megabyte."""
    start = time.process_time()
    assert read("html", page().replace("</article>", f"{part * 30_000}</article>")).blocks
    assert time.process_time() - start < 8
