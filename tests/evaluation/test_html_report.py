import random
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.html_report import (
    Distribution,
    ExtremeDocument,
    MarkedSegment,
    histogram,
    mark_shared,
    read_distribution,
    to_html,
)
from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.report import EvaluationReport, ReportRow
from sumpool.evaluation.rouge import TYPES, RougeTokenizer, UnicodeTokenizer, WordTokenizer
from sumpool.evaluation.scorer import Candidate, Form, ReferenceDocument, SummaryScorer
from sumpool.evaluation.scores import append_scores, finish_results, open_scores
from sumpool.evaluation.statistics import Estimate, PairedTest
from sumpool.text.form import FAULTS
from tests.browser.hostile import PAYLOADS

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
    form = Form(0, 0, dict.fromkeys(FAULTS, 0))
    measures = (2, rouge, 40.4, 0.02, 0.5, 2.0, 0.25, None)
    rows = tuple(ReportRow("all", name, *measures, against_lead={}, form=form) for name in (system, "LEAD-60"))
    difference = Difference("all", system, "LEAD-60", 2, dict.fromkeys(TYPES, TEST), dict.fromkeys(TYPES, 0.5))
    report = EvaluationReport(
        rows,
        f"signature {text}",
        2,
        (f"note {text}",),
        tuple(replace(row, slice=text) for row in rows),
        (difference, replace(difference, other=text)),
    )
    document = ExtremeDocument(text, dict.fromkeys(TYPES, 0.5), f"hosts send {text}", f"{text} hosts send", text * 3000)
    scores = {name: [0.25, 0.5] for name in TYPES}
    distribution = Distribution(scores, scores, [3, 4], [document], [replace(document, document=None)])
    return to_html(
        report, distribution, EvaluationConfig(tokenizer="unicode", bertscore_model=Path("BERT")), {"model": text}
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
    assert '<th scope="col" class="name">system</th>' in page("rfc7")
    assert re.search(
        "<h4>Summary</h4><p[^>]*><mark>hosts send</mark> .*<h4>Reference</h4>.*<mark>hosts send</mark></p>",
        page("rfc7"),
        re.DOTALL,
    )


def test_an_empty_report_is_a_page() -> None:
    empty = Distribution({name: [] for name in TYPES}, {}, [], [], [])
    parsed = Page(to_html(EvaluationReport((), "signature", 0, ()), empty, EvaluationConfig()))
    assert parsed.texts.count("None.") == 2


def test_empty_summaries_are_named() -> None:
    document = ExtremeDocument("a", dict.fromkeys(TYPES, 0.0), "", "hosts", None)
    distribution = Distribution({name: [0.0] for name in TYPES}, {}, [0], [document], [])
    assert "<em>empty</em>" in to_html(EvaluationReport((), "", 1, ()), distribution, EvaluationConfig())


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
    distribution = read_distribution(tmp_path / "results", references, count)
    assert [document.id for document in distribution.best] == list(best)
    assert [document.id for document in distribution.worst] == list(worst)
    assert distribution.words == [number + 1 for number in range(documents)]
    assert distribution.rouge["rouge1"] == sorted(distribution.rouge["rouge1"])
    assert distribution.lead["rouge2"] == [0.0] * documents
    first = distribution.best[0]
    assert (first.reference, first.document) == (REFERENCE, f"document {best[0]}")
    assert first.summary == " ".join(REFERENCE.split()[:documents])
    assert first.rouge["rouge1"] == distribution.rouge["rouge1"][-1]


def test_without_baselines_there_is_no_other_distribution(tmp_path: Path) -> None:
    with open_scores(tmp_path / "results", {}, resume=False) as file:
        append_scores(file, SummaryScorer(EvaluationConfig()).score(Candidate("a", "x", "y", None)))
    finish_results(tmp_path / "results", "{}", 1)
    distribution = read_distribution(tmp_path / "results", [], 10)
    assert distribution.lead == {}
    assert list(distribution.best) == []  # a reference that has vanished since


def test_bars_count_the_values() -> None:
    image = ElementTree.fromstring(histogram("ROUGE-1", [0.0, 1.0, 1.5, 99.0], top=100))
    bars = [bar for bar in image.iter("rect")]
    assert [float(bar.attrib["height"]) for bar in bars] == [120.0, 40.0]
    assert [float(bar.attrib["x"]) for bar in bars] == [0.0, 304.0]
    assert image.attrib["aria-label"] == "ROUGE-1: 4 documents, mean 25, highest bar 3 documents"
    assert [text.text for text in image.iter("text")] == ["0", "100"]
    assert "mean 10," in histogram("ROUGE-1", [10.0])


def test_another_system_is_an_outline_on_the_same_scale() -> None:
    markup = histogram("ROUGE-1", [1.0, 2.0], [99.0, 98.0, 97.0, 96.0], top=100)
    assert 'height="60.0"' in markup
    assert re.search(r'class="outline" d="M0 120H0.0V120.0.*H304.0V0.0H320V120"', markup)
    assert "outline" not in histogram("ROUGE-1", [1.0])


def test_labels_are_escaped_and_empty_data_drawn() -> None:
    image = ElementTree.fromstring(histogram('<b>"&', [], unit=" <words>"))
    assert image.attrib["aria-label"].startswith('<b>"&: 0 documents')
    assert not list(image.iter("rect"))


ROUGE = RougeTokenizer(stemmer=True)
UNICODE = UnicodeTokenizer(stemmer=True)


def test_sequences_and_single_words_are_marked() -> None:
    assert mark_shared(
        "The host sends Datagrams, slowly; a gateway (too).", "Host send datagrams to a big gateway", ROUGE
    ) == [
        MarkedSegment("The ", 0),
        MarkedSegment("host sends Datagrams", 2),
        MarkedSegment(", slowly; ", 0),
        MarkedSegment("a", 1),
        MarkedSegment(" ", 0),
        MarkedSegment("gateway", 1),
        MarkedSegment(" (too).", 0),
    ]


def test_nothing_is_marked_without_common_words() -> None:
    assert mark_shared("Apples fall.", "Hosts send.", ROUGE) == [MarkedSegment("Apples fall.", 0)]
    assert mark_shared("", "Hosts send.", ROUGE) == []
    assert mark_shared("...", "", ROUGE) == [MarkedSegment("...", 0)]


def test_characters_are_words_of_other_scripts() -> None:
    assert mark_shared("主机发送数据报", "发送分组", UNICODE) == [
        MarkedSegment("主机", 0),
        MarkedSegment("发送", 2),
        MarkedSegment("数据报", 0),
    ]


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from([ROUGE, UNICODE]))
def test_the_segments_are_the_text(text: str, other: str, tokenizer: WordTokenizer) -> None:
    segments = mark_shared(text, other, tokenizer)
    assert "".join(segment.text for segment in segments) == text
    assert all(segment.text for segment in segments)


def test_the_marked_words_are_those_of_common_bigrams() -> None:
    for seed in range(30):
        generator = random.Random(seed)
        text, other = ([*generator.choices("abcdefgh", k=20)] for _ in range(2))
        pairs = set(pairwise(other))
        expected = []
        for index, word in enumerate(text):
            before, after = (text[index - 1], word), tuple(text[index : index + 2])
            in_pair = (index > 0 and before in pairs) or after in pairs
            expected.append(2 if in_pair else int(word in other))
        levels = [
            segment.shared
            for segment in mark_shared(" ".join(text), " ".join(other), ROUGE)
            for word in segment.text.split()
        ]
        assert levels == expected
