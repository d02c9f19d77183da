import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.html_report import Distribution, ExtremeDocument, to_html
from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.report import EvaluationReport, ReportRow
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.statistics import Estimate, PairedTest

VOID = {"meta", "rect", "path"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "footer", "h1", "h2", "h3", "h4", "p", "em", "bdi"),
    *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "figure", "figcaption"),
    *("svg", "rect", "path", "text", "article", "details", "summary", "mark", "span"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "role", "tabindex", "aria-label", "scope", "dir"),
    *("viewbox", "x", "y", "width", "height", "d"),
}
HOSTILE = [
    "<script>document.title='run'</script>",
    "</p></article><img src=x onerror=document.title='run'>",
    "\" onmouseover=\"document.title='run'",
    "<svg/onload=document.title='run'>",
    "</style><script>document.title='run'</script>",
    "<!--",
    "]]>",
    "&lt;script&gt;",
    "javascript:alert(1)",
    "https://example.org/x.png",
    "\u202ereversed",
    "\x00\x1b[31mred",
    "\ud800",
    "{system}",
    "%s",
    "<base href=//example.org>",
    "<meta http-equiv=refresh content='0;url=//example.org'>",
    "<iframe srcdoc='<script>1</script>'>",
]
TEST = PairedTest(Estimate(0.05, -0.01, 0.06), bootstrap=0.25, permutation=0.125, wins=12, ties=3, losses=4)


class Page(HTMLParser):
    """Tags, attributes and texts of a page; every element must be closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page(text: str, system: str = "tiny") -> str:
    rouge = dict.fromkeys(TYPES, Estimate(1 / 3, 0.25, 0.5))
    rows = tuple(ReportRow("all", name, 2, rouge, 40.4, 0.02, 0.5, 2.0, 0.25, None, {}) for name in (system, "LEAD-60"))
    difference = Difference("all", system, "LEAD-60", 2, dict.fromkeys(TYPES, TEST), dict.fromkeys(TYPES, 0.5))
    report = EvaluationReport(
        rows,
        f"signature {text}",
        2,
        (f"note {text}",),
        tuple(replace(row, slice=text) for row in rows),
        (difference,),
        (replace(difference, other=text),),
    )
    document = ExtremeDocument(text, dict.fromkeys(TYPES, 0.5), f"hosts send {text}", f"{text} hosts send", text * 3000)
    scores = {name: [0.25, 0.5] for name in TYPES}
    distribution = Distribution(scores, scores, [3, 4], [document], [replace(document, document=None)])
    return to_html(
        report, distribution, EvaluationConfig(tokenizer="unicode", bertscore_model=Path("BERT")), {"model": text}
    )


def test_hostile_texts_are_texts() -> None:
    for text in HOSTILE:
        markup = page(text, system=text)
        markup.encode()
        parsed = Page(markup)
        assert parsed.tags <= ALLOWED
        assert parsed.attributes <= ATTRIBUTES
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\ud800]", markup)
        safe = re.sub("[\x00\x1b\u202e\ud800]", "\ufffd", text)
        assert f"note {safe}" in parsed.texts
        assert parsed.texts.count(safe) >= 4  # id of two documents, name of a slice, origin
        assert f"Evaluation of {safe}" in parsed.texts
        assert markup.count("<mark>") >= 4


def test_the_policy_admits_the_style_sheet_alone() -> None:
    markup = page("text")
    style = re.search(r"<style>(.*)</style>", markup, re.DOTALL)
    assert style
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'" in markup
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert "style=" not in markup
    assert "prefers-color-scheme: dark" in style[1]


def test_the_page_holds_tables_documents_and_settings() -> None:
    parsed = Page(page("rfc7"))
    texts = " ".join(parsed.texts)
    for part in (
        "33.3 [25.0, 50.0]",
        "12/3/4",
        "Best documents",
        "Worst documents",
        "evaluate.tokenizer",
        "unicode",
        "true",
        "none",
        "BERT",
        "Length of the summaries, dashed mean",
    ):
        assert part in texts
    assert parsed.texts.count("Beginning of the document") == 1  # the other document is unknown
    assert sum("rfc7" * 300 in text for text in parsed.texts) == 1
    assert "rfc7" * 400 not in texts


def test_an_empty_report_is_a_page() -> None:
    empty = Distribution({name: [] for name in TYPES}, {}, [], [], [])
    parsed = Page(to_html(EvaluationReport((), "signature", 0, ()), empty, EvaluationConfig()))
    assert parsed.texts.count("None.") == 2


def test_empty_summaries_are_named() -> None:
    document = ExtremeDocument("a", dict.fromkeys(TYPES, 0.0), "", "hosts", None)
    distribution = Distribution({name: [0.0] for name in TYPES}, {}, [0], [document], [])
    assert "<em>empty</em>" in to_html(EvaluationReport((), "", 1, ()), distribution, EvaluationConfig())
