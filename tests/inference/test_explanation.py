import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sumpool.documents.document import Document, TextBlock
from sumpool.documents.source_sentences import source_sentences
from sumpool.errors import RecipeError
from sumpool.inference.explanation import render_explanation, write_explanation
from sumpool.inference.loading import load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from sumpool.interpret.evidence import Evidence, EvidenceSource, SentenceEvidence
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
    """Elements of a page by id, and the text within each; every element must be closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.text = ""
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
        self.text += data
        for _, attributes in self.open:
            name = attributes.get("id")
            if name:
                self.texts[name] = self.texts.get(name, "") + data

    def having(self, name: str) -> list[str]:
        """Values of an attribute."""
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]


def example() -> Summary:
    """A document with every kind of block, of which the model read the first four, and a summary of two sentences."""
    document = Document(
        "memo.pdf", "\n\n".join(b.text for b in TEXTS), title="Memo", blocks=TEXTS, notes=("2 lines cut",)
    )
    source = source_sentences(document, SentenceSplitter())
    entries = [EvidenceSource(i, s.text, s.start, s.end, s.page, s.line, 0.8 - 0.3 * i) for i, s in enumerate(source)]
    evidence = Evidence(
        (
            SentenceEvidence("Hosts send 42 packets.", ("42",), (entries[1], entries[2])),
            SentenceEvidence("Gateways drop packets.", (), (entries[2],)),
        ),
        read=frozenset({1, 2, 4}),
        text=document.text,
    )
    text = "Hosts send 42 packets. Gateways drop packets."
    return Summary(
        "memo.pdf",
        text,
        0,
        12,
        48,
        0.1,
        title=document.title,
        language="en",
        notes=document.notes,
        source=source,
        evidence=evidence,
    )


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


def test_pages_of_a_model(run_folder: Path, tmp_path: Path) -> None:
    document = Document("story", story(1, 60))
    loaded = load_for_generation(run_folder, ["summarize.mode=abstractive", "summarize.on_overflow=truncate"])
    (summary,) = Pipeline.of(loaded).summarize([document], evidence="page")
    write_explanation(tmp_path / "page.html", summary)
    page = Page((tmp_path / "page.html").read_text("utf-8"))
    assert "did not read the text from here on" in page.text


@pytest.mark.parametrize("mode", ["no summary", "no evidence", "no title"])
def test_incomplete_summaries_have_a_page(mode: str) -> None:
    summary = example()
    if mode == "no summary":
        summary = Summary("memo.pdf", "", None, 0, 0, 0.0, reason="the document must hold text, got none")
    elif mode == "no evidence":
        summary = replace(summary, evidence=None)
    else:
        summary = replace(summary, title="")
    page = Page(render_explanation(summary))
    assert {"no summary": "No summary: the document must", "no evidence": summary.summary, "no title": "memo.pdf"}[
        mode
    ] in page.text
    assert ("#s1" in page.having("href")) == (mode == "no title")


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
    entry = EvidenceSource(0, text, 0, 9, None, None, 1.0)
    entries = (SentenceEvidence(text, (text,), (entry,)),) if source else ()
    evidence = Evidence(entries, frozenset(range(min(1, len(source)))))
    summary = Summary(text, text, 0, 1, 1, 0.0, language=text, model=text, mode=text, title=text)
    return render_explanation(replace(summary, source=source, evidence=evidence, notes=(text,)))


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


def test_an_unusable_path_is_named() -> None:
    with pytest.raises(RecipeError, match="/dev/full"):
        write_explanation(Path("/dev/full/page.html"), example())
