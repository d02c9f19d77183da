import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.report import Difference, EvaluationReport, ReportRow
from sumpool.evaluation.rouge import TYPES, Score
from sumpool.evaluation.scorer import Candidate, ReferenceDocument, ScoredDocument, SummaryMetrics, SummaryScorer
from sumpool.evaluation.scores import append_scores, finish_results, open_scores
from sumpool.evaluation.statistics import Estimate, PairedTest
from sumpool.evaluation.tables import read_extremes, to_html
from tests.browser.hostile import PAYLOADS

VOID = {"meta"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "footer", "h1", "h2", "h3", "h4", "p", "em", "bdi"),
    *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd"),
    *("article", "details", "summary"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "role", "tabindex", "aria-label", "scope", "dir"),
}
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


def scored_as(name: str, summary: str, f1: float) -> ScoredDocument:
    metrics = SummaryMetrics(dict.fromkeys(TYPES, Score(f1, f1, f1)), 9, 0.0, None)
    return ScoredDocument(name, summary, None, None, True, {"model": metrics})


def page(text: str, system: str = "tiny") -> str:
    rouge = dict.fromkeys(TYPES, Estimate(1 / 3, 0.25, 0.5))
    measures = (2, rouge, 40.4, 0.02, None)
    rows = tuple(
        ReportRow(part, name, *measures, against_lead={}) for part in ("all", text) for name in (system, "LEAD-60")
    )
    difference = Difference("all", system, "LEAD-60", 2, dict.fromkeys(TYPES, TEST), dict.fromkeys(TYPES, 0.5))
    report = EvaluationReport(
        rows,
        f"signature {text}",
        2,
        (f"note {text}",),
        (difference, replace(difference, other=text)),
    )
    scored = scored_as(text, f"hosts send {text}", 0.5)
    reference = ReferenceDocument(text, f"{text} hosts send", text * 3000)
    config = EvaluationConfig(tokenizer="unicode")
    return to_html(
        report, [(scored, reference)], [(scored, replace(reference, document=None))], config, {"model": text}
    )


def test_hostile_texts_are_texts() -> None:
    for text in (payload[:100] for payload in PAYLOADS):
        markup = page(text, system=text)
        markup.encode()
        parsed = Page(markup)
        assert parsed.tags <= ALLOWED
        assert parsed.attributes <= ATTRIBUTES
        unsafe = "[\x00-\x08\x0b-\x1f\u061c\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe]"
        assert not re.search(unsafe, markup)
        safe = re.sub(unsafe, "\ufffd", text)
        assert f"note {safe}" in parsed.texts
        assert parsed.texts.count(safe) >= 4  # id of two documents, name of a slice, origin
        assert f"Evaluation of {safe}" in parsed.texts


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
    ):
        assert part in texts
    assert parsed.texts.count("Beginning of the document") == 1  # the other document is unknown
    assert sum("rfc7" * 300 in text for text in parsed.texts) == 1
    assert "rfc7" * 400 not in texts
    assert '<th scope="col" class="name">system</th>' in page("rfc7")
    pair = "<h4>Summary</h4><p[^>]*>hosts send rfc7</p>.*<h4>Reference</h4><p[^>]*>rfc7 hosts send</p>"
    assert re.search(pair, page("rfc7"), re.DOTALL)


def test_an_empty_report_is_a_page() -> None:
    parsed = Page(to_html(EvaluationReport((), "signature", 0, ()), [], [], EvaluationConfig()))
    assert parsed.texts.count("None.") == 2


def test_empty_summaries_are_named() -> None:
    extreme = (scored_as("a", "", 0.0), ReferenceDocument("a", "hosts", None))
    assert "<em>empty</em>" in to_html(EvaluationReport((), "", 1, ()), [extreme], [], EvaluationConfig())


REFERENCE = "Hosts send datagrams to a gateway and routers drop packets"


@pytest.mark.parametrize(
    ("documents", "count", "best", "worst"), [(9, 3, "876", "012"), (5, 10, "432", "01"), (1, 10, "0", "")]
)
def test_the_best_and_the_worst_are_chosen(tmp_path: Path, documents: int, count: int, best: str, worst: str) -> None:
    scorer = SummaryScorer(EvaluationConfig(baselines=("lead",), lead_words=2))
    references = [ReferenceDocument(str(number), REFERENCE, f"document {number}") for number in range(documents)]
    with open_scores(tmp_path / "results", {}, resume=False) as file:
        for number, reference in enumerate(references):
            summary = " ".join(REFERENCE.split()[: number + 1])
            append_scores(file, scorer.score(Candidate(reference.id, summary, REFERENCE, reference.document)))
    finish_results(tmp_path / "results", "{}", documents)
    found = read_extremes(tmp_path / "results", references, count)
    assert [[scored.id for scored, _ in extremes] for extremes in found] == [list(best), list(worst)]
    first, reference = found[0][0]
    assert reference == references[int(best[0])]
    assert first.summary == " ".join(REFERENCE.split()[:documents])
    assert read_extremes(tmp_path / "results", references[:0], count) == ([], [])  # references that have vanished since
