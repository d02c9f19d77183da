import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sumpool.cli.rendering import SUFFIXES, Format, Rendering, Style
from sumpool.documents.document import TextBlockKind
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.summary import Extraction, Summary
from sumpool.interpret.evidence import Evidence, EvidenceSource, SentenceEvidence

HTML_TAGS = ("html", "head", "meta", "title", "style", "body", "div", "main", "h1", "p", "ul", "li", "footer", "bdi")
SUMMARY = Summary(
    "a/b.txt",
    "First *one*. Second <b>.",
    -1.0,
    5,
    9,
    0.1,
    mode="extractive",
    title="A & B",
    model="runs/x",
    sentences=("First *one*.", "Second <b>."),
)


def test_text() -> None:
    assert Rendering().render(SUMMARY) == "First *one*. Second <b>."
    assert Rendering(title=True).render(SUMMARY) == "A & B\n\nFirst *one*. Second <b>."
    assert Rendering(style="bullets").render(SUMMARY) == "- First *one*.\n- Second <b>."


def test_a_table_of_contents_is_one_item_of_a_list() -> None:
    texts = ("Hosts send packets.", "Contents: Hosts;", "Gateways.")
    kinds: tuple[TextBlockKind, ...] = ("paragraph", "heading", "heading")
    source = tuple(SourceSentence(text, 0, 0, kind=kind) for text, kind in zip(texts, kinds, strict=True))
    summary = replace(
        SUMMARY, sentences=texts, extraction=Extraction(texts, (0, 1, 2)), source=source, title="", language="en"
    )
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
        summary = replace(SUMMARY, title=title, summary=text, sentences=(text,), language="en")
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


EVIDENCE = Evidence(
    (
        SentenceEvidence("First *one*.", ("7",), (EvidenceSource(0, "The _first_.", 0, 12, 3, None, 0.8),)),
        SentenceEvidence("Second <b>.", (), ()),
    )
)


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        (
            "text",
            ["1. First *one*.", "    80%  page 3: The _first_.", "     !  not in the document: 7", "2. Second <b>."],
        ),
        ("markdown", ["1. First \\*one\\*.", "    - 80% (page 3): The \\_first\\_.", "    - not in the document: 7"]),
    ],
)
def test_evidence_follows_the_summary(format: Format, expected: list[str]) -> None:
    lines = Rendering(format).render(replace(SUMMARY, evidence=EVIDENCE)).splitlines()
    assert [line for line in lines if line in expected] == expected


@pytest.mark.parametrize("style", ["paragraph", "bullets"])
def test_texts_and_titles_forge_no_markdown(style: Style) -> None:
    hostile = "d1\n# forged <b>\n- [a](b) &lt;\n1. |"
    pages = []
    for text in ("plain", hostile):
        source = EvidenceSource(0, text, 0, 12, 3, None, 0.8)
        summary = replace(SUMMARY, title=text, sentences=(text,), id=text)
        summary = replace(summary, evidence=Evidence((SentenceEvidence(text, (text,), (source,)),)))
        rendering = Rendering("markdown", style, True)
        pages.append(MarkdownIt().parse(f"{rendering.render_id(summary)}\n{rendering.render(summary)}"))
    plain, shown = [[(token.type, token.tag) for token in page] for page in pages]
    assert plain == shown


def test_json_is_the_row() -> None:
    assert json.loads(Rendering("json").render(SUMMARY))["title"] == "A & B"


def test_every_format_has_a_suffix() -> None:
    assert set(SUFFIXES) == set(Format.__args__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("style", ["paragraph", "bullets"])
@given(title=st.text(), text=st.text())
def test_html_interprets_nothing(style: str, title: str, text: str) -> None:
    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.tags: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            del attrs
            self.tags.append(tag)

    parser = Tags()
    summary = Summary(title, text, -1.0, 5, 9, 0.1, title=title, sentences=(text,))
    parser.feed(Rendering("html", style).render(summary))  # type: ignore[arg-type]
    assert set(parser.tags) <= {*HTML_TAGS}
    assert parser.tags.count("style") == 1
