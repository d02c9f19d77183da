import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sumpool.documents.document import Document, TextBlock, TextBlockKind
from sumpool.documents.source_sentences import SourceSentence, source_sentences
from sumpool.inference.html_pages import render_explanation
from sumpool.inference.loading import load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.rendering import Rendering, Style
from sumpool.inference.summary import EvidenceSource, SentenceEvidence, Summary, SummarySentence
from sumpool.text.sentences import SentenceSplitter
from tests.browser.hostile import PAYLOADS
from tests.conftest import story

VOID = {"meta", "input"}
TEXTS = (
    TextBlock("Hosts & gateways", "heading", level=1, page=1),
    TextBlock("Hosts send packets. Gateways drop packets.", page=1),
    TextBlock("if a < b:\n    drop(b)", "code", page=1),
    TextBlock("a host, which sends packets over a network", "list_item", page=2),
    TextBlock("Routers forward packets.", page=2),
)


class Page(HTMLParser):
    """Elements of a page, and the texts between tags and within elements by id; every element must be closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.parts: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"an attribute of {tag} occurs twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.parts.append(data)
        for _, attributes in self.open:
            name = attributes.get("id")
            if name:
                self.texts[name] = self.texts.get(name, "") + data

    @property
    def text(self) -> str:
        """All text of the page."""
        return "".join(self.parts)

    def having(self, name: str) -> list[str]:
        """Values of an attribute."""
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]


HTML_TAGS = ("html", "head", "meta", "title", "style", "body", "div", "main", "h1", "p", "ul", "li", "footer", "bdi")
SENTENCES = (SummarySentence("First *one*."), SummarySentence("Second <b>."))
TEXT = " ".join(sentence.text for sentence in SENTENCES)
SUMMARY = Summary("a/b.txt", TEXT, -1.0, 5, 9, mode="extractive", title="A & B", model="runs/x", sentences=SENTENCES)


def test_text() -> None:
    assert Rendering().render(SUMMARY) == "First *one*. Second <b>."
    assert Rendering(title=True).render(SUMMARY) == "A & B\n\nFirst *one*. Second <b>."
    assert Rendering(style="bullets").render(SUMMARY) == "- First *one*.\n- Second <b>."
    assert Rendering().render_id(SUMMARY) == SUMMARY.id


def test_a_table_of_contents_is_one_item_of_a_list() -> None:
    texts = ("Hosts send packets.", "Contents: Hosts;", "Gateways.")
    kinds: tuple[TextBlockKind, ...] = ("paragraph", "heading", "heading")
    source = tuple(SourceSentence(text, 0, 0, kind=kind) for text, kind in zip(texts, kinds, strict=True))
    sentences = tuple(SummarySentence(text, (0, 0), index) for index, text in enumerate(texts))
    summary = replace(SUMMARY, sentences=sentences, source=source, title="", language="en")
    for format in ("text", "markdown"):
        items = Rendering(format, "bullets").render(summary)
        assert items == "- Hosts send packets.\n- Contents: Hosts; Gateways."
    assert "<li>Contents: Hosts; Gateways.</li>" in Rendering("html", "bullets").render(summary)


def test_a_title_that_the_summary_does_not_name_comes_first() -> None:
    for title, is_shown in (
        ("Duties of developers", True),
        ("The gateway", False),
        ("Gateways and their forwarding hosts", False),
        ("Chapter 4. Gateways and hosts", False),
        ("Handbook of gateways and towers", True),
        ("Customized gateways", True),
        ("", False),
    ):
        text = "The gateway forwards packets to the hosts."
        summary = replace(SUMMARY, title=title, text=text, sentences=(SummarySentence(text),), language="en")
        assert Rendering().render(summary) == (f"{title}\n\n{text}" if is_shown else text)
        assert Rendering("markdown").render(summary) == (f"# {title}\n\n{text}" if is_shown else text)
        assert Rendering(title=False).render(summary) == text
        assert Rendering(style="bullets", title=None).render(summary).endswith(f"- {text}")


def test_markdown_shows_the_characters_themselves() -> None:
    text = Rendering("markdown", "bullets", True).render(SUMMARY)
    assert text == "# A & B\n\n- First \\*one\\*.\n- Second \\<b\\>."
    page = MarkdownIt().render(text)
    assert "<li>First *one*.</li>" in page
    assert "<h1>A &amp; B</h1>" in page


LONG = "The _first_ of many words, which say that hosts send packets to the gateways of the network."
SOURCES = (EvidenceSource(0, LONG, 0, 12, 3, None, 0.8), EvidenceSource(4, "None.", 60, 90, None, None, 0.0512))
EVIDENCE = (SentenceEvidence("First *one*.", ("7", "MIT"), SOURCES), SentenceEvidence("Second <b>.", (), ()))


def test_evidence_follows_the_summary() -> None:
    summary = replace(SUMMARY, evidence=EVIDENCE, title="")
    assert Rendering().render(summary).split("\n")[2:] == [
        "1. First *one*.",
        "    80%  page 3: The _first_ of many words, which say that hosts send packets to the gateways of the",
        "         network.",
        "     5%  None.",
        "     !  not in the document: 7, MIT",
        "2. Second <b>.",
    ]
    assert Rendering("markdown").render(summary).split("\n")[2:] == [
        "## Evidence",
        "",
        "1. First \\*one\\*.",
        f"    - 80% (page 3): {LONG}".replace("_", "\\_"),
        "    - 5%: None.",
        "    - not in the document: 7, MIT",
        "2. Second \\<b\\>.",
    ]


@pytest.mark.parametrize("style", ["paragraph", "bullets"])
def test_texts_and_titles_forge_no_markdown(style: Style) -> None:
    hostile = "d1\n# forged <b>\n- [a](b) &lt;\n1. |"
    pages = []
    for text in ("plain", hostile):
        source = EvidenceSource(0, text, 0, 12, 3, None, 0.8)
        summary = replace(SUMMARY, title=text, sentences=(SummarySentence(text),), id=text)
        summary = replace(summary, evidence=(SentenceEvidence(text, (text,), (source,)),))
        rendering = Rendering("markdown", style, True)
        pages.append(MarkdownIt().parse(f"{rendering.render_id(summary)}\n{rendering.render(summary)}"))
    plain, shown = [[(token.type, token.tag) for token in page] for page in pages]
    assert plain == shown


@pytest.mark.parametrize("style", ["paragraph", "bullets"])
@given(title=st.text(), text=st.text())
def test_html_interprets_nothing(style: Style, title: str, text: str) -> None:
    summary = Summary(title, text, -1.0, 5, 9, 0.1, title=title, sentences=(SummarySentence(text),))
    tags = [tag for tag, _ in Page(Rendering("html", style).render(summary)).elements]
    assert set(tags) <= {*HTML_TAGS}
    assert tags.count("style") == 1


def example() -> Summary:
    """A document with every kind of block, of which the model read the first four, and a summary of two sentences."""
    document = Document(
        "memo.pdf", "\n\n".join(b.text for b in TEXTS), title="Memo", blocks=TEXTS, notes=("2 lines cut",)
    )
    source = source_sentences(document, SentenceSplitter())
    entries = [EvidenceSource(i, s.text, s.start, s.end, s.page, s.line, 0.8 - 0.3 * i) for i, s in enumerate(source)]
    evidence = (
        SentenceEvidence("Hosts send 42 packets.", ("42",), (entries[1], entries[2])),
        SentenceEvidence("Gateways drop packets.", (), (entries[2],)),
    )
    text = "Hosts send 42 packets. Gateways drop packets."
    summary = Summary("memo.pdf", text, 0, 12, 48, title="Memo", language="en", notes=document.notes, source=source)
    return replace(summary, evidence=evidence, read=frozenset({1, 2, 4}), document=document.text)


def test_sentences_link_to_their_sources_and_back() -> None:
    page = Page(render_explanation(example()))
    links = [link for link in page.having("href") if link != "#document"]
    assert links == ["#d1", "#d2", "#d2", "#s1", "#s1", "#s2"]
    assert {link[1:] for link in links} <= set(page.texts)
    assert page.texts["d1"] == "Hosts send packets.1"
    assert page.texts["d2"] == "Gateways drop packets.12"
    assert page.texts["s1"].split("\n") == [
        "Hosts send 42 packets.",
        "Not in the document: 42",
        "",
        "page 1 50%",
        "page 1 20%",
        "",
        "",
    ]
    assert len(set(page.having("id"))) == len(page.having("id"))


def test_the_whole_document_is_shown_once() -> None:
    summary = example()
    page = Page(render_explanation(summary))
    text = " ".join(page.texts["document"].split())
    for sentence in summary.source:
        assert text.count(" ".join(sentence.text.split())) == 1
    assert "if a < b:\n    drop(b)" in page.texts["document"], "code keeps its lines"
    assert text.index("page 1") < text.index("Hosts send") < text.index("page 2") < text.index("a host")
    assert text.index("a host") < text.index("did not read the text from here on") < text.index("Routers")
    assert "read 12 of 48 tokens (25%)" in page.text
    for mode, wording in (("extractive", "sentences of"), ("abstractive", "generated"), ("rewritten", "generated")):
        about = render_explanation(replace(summary, mode=mode)).partition("words \u00b7 ")[2]
        assert about.startswith(wording), "a rewritten sentence is not one of the document"
    assert "2 lines cut" in page.text


def test_pages_of_a_model(run_folder: Path) -> None:
    document = Document("story", story(1, 60))
    loaded = load_for_generation(run_folder, ["summarize.mode=abstractive", "summarize.on_overflow=truncate"])
    (summary,) = Pipeline.of(loaded).summarize([document], evidence="page")
    assert "did not read the text from here on" in Page(render_explanation(summary)).text


def test_incomplete_summaries_have_a_page() -> None:
    summary = example()
    without_text = Summary("memo.pdf", "", None, 0, 0, 0.0, reason="the document must hold text, got none")
    for incomplete, shown, has_links in (
        (without_text, "No summary: the document must", False),
        (replace(summary, evidence=None, read=None, document=""), summary.text, False),
        (replace(summary, title=""), "memo.pdf", True),
    ):
        page = Page(render_explanation(incomplete))
        assert shown in page.text
        assert ("#s1" in page.having("href")) == has_links


def test_summaries_without_a_model_have_no_unread_text(run_folder: Path) -> None:
    text = "Die Rechner senden Pakete an die Router, und diese verwerfen alle, die zu lang sind. " * 9
    document = Document("memo", text)
    loaded = load_for_generation(run_folder, ["summarize.mode=extractive"])
    (summary,) = Pipeline.of(replace(loaded, language="en")).summarize([document], evidence="page")
    assert summary.tokens_read == 0
    markup = render_explanation(replace(summary, model="runs/a"))
    page = Page(markup)
    assert "German" in page.text
    assert "runs/a" not in page.text
    assert "#s1" in page.having("href")
    assert not any("unread" in name for name in page.having("class"))


def explanation_of(text: str) -> str:
    """Page on which every text and name is the given one."""
    source = source_sentences(Document(text, text), SentenceSplitter())
    entry = EvidenceSource(0, text, 0, 9, None, None, 1.0, text)
    entries = (SentenceEvidence(text, (text,), (entry,)),) if source else ()
    read = frozenset(range(min(1, len(source))))
    summary = Summary(text, text, 0, 1, 1, 0.0, language=text, model=text, mode=text, title=text)
    return render_explanation(replace(summary, source=source, evidence=entries, read=read, notes=(text,)))


def test_hostile_texts_are_text() -> None:
    plain = {tag for tag, _ in Page(explanation_of("Hosts send packets. Gateways drop them.")).elements}
    for payload in (payload[:1000] for payload in PAYLOADS):
        markup = explanation_of(payload)
        page = Page(markup)
        assert {tag for tag, _ in page.elements} <= {*plain, "pre"}
        assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
        links = [link for name in ("href", "src", "action", "data", "srcdoc") for link in page.having(name)]
        assert all(link.startswith("#") for link in links)
        assert not re.search("[\x00-\x08\u202e\u2066]", markup)
        assert page.text.count(payload) >= 4 or len(payload) == 1000 or not payload.isprintable()
