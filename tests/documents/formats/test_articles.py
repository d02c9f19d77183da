"""Articles: what stands around them on their page is none of their text."""

import subprocess
import sys
import time

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, ParsedDocument
from sumpool.documents.formats import html
from sumpool.documents.formats.html import declares_article, parse
from sumpool.documents.markup import parse_markup

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


def read(markup: str) -> ParsedDocument:
    return parse(markup.encode(), DEFAULT_OPTIONS)


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
