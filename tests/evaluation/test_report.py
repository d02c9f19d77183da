import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sumpool.evaluation.report import (
    Difference,
    EvaluationReport,
    ReportRow,
    ScoreAggregator,
    best_scores,
    read_extremes,
    score_table,
    to_csv,
    to_html,
    to_latex,
    win_table,
)
from sumpool.evaluation.rouge import TYPES, EvaluationConfig, Score
from sumpool.evaluation.scorer import Candidate, ReferenceDocument, ScoredDocument, SummaryMetrics, SummaryScorer
from sumpool.evaluation.scores import LINE, finish_results, open_scores
from sumpool.evaluation.statistics import Estimate, PairedTest
from sumpool.text.cleaning import Bold, escape_latex
from sumpool.text.fragments import Copying
from tests.browser.hostile import PAYLOADS
from tests.inference.test_rendering import Page

NAMES = {"model": "tiny", "lead": "LEAD-60", "oracle": "oracle-3"}
CONFIG = EvaluationConfig(resamples=200)


def make_metrics(f1: float, *, document: bool = True) -> SummaryMetrics:
    copying = Copying(leak=0.0, facts=4, unsupported=1) if document else None
    return SummaryMetrics({name: Score(0.0, 0.0, f1) for name in TYPES}, words=40, repetition=0.02, copying=copying)


def scored(number: int, *, leak: float | None) -> ScoredDocument:
    generator = np.random.default_rng(number)
    noise = generator.normal(0, 0.01, 3)
    systems = {"model": make_metrics(0.40 + float(noise[0]), document=leak is not None)}
    if leak is not None:
        systems["lead"] = make_metrics(0.35 + float(noise[1]))
        systems["oracle"] = make_metrics(0.60 + float(noise[2]))
    return ScoredDocument(f"d{number}", "text", leak, None, True, systems)


def report(documents: list[ScoredDocument]) -> EvaluationReport:
    scores = ScoreAggregator()
    for document in documents:
        scores.add(document)
    return scores.report(CONFIG, NAMES, "signature")


def test_every_system_has_a_row_on_every_slice() -> None:
    result = report([scored(number, leak=0.1 * number) for number in range(10)])
    assert [(row.slice, row.system, row.documents) for row in result.rows] == [
        (part, system, count) for part, count in (("all", 10), ("low-leak", 2)) for system in NAMES.values()
    ]
    assert result.documents == 10
    assert result.notes == ()
    assert result.to_json().startswith('{\n  "rows": [\n    {\n      "slice": "all",\n      "system": "tiny",')


def test_scores_are_means_over_the_documents_of_the_slice() -> None:
    documents = [scored(number, leak=0.1 * number) for number in range(10)]
    row = report(documents).rows[3]
    expected = [document.systems["model"].rouge["rougeL"].f1 for document in documents[:2]]
    assert row.rouge["rougeL"].mean == pytest.approx(np.mean(expected))
    assert min(expected) <= row.rouge["rougeL"].low <= row.rouge["rougeL"].high <= max(expected)
    assert (row.words, row.unsupported) == (40, 0.25)
    assert row.repetition == pytest.approx(0.02)


def test_without_documents_there_is_one_row_and_a_note() -> None:
    result = report([scored(number, leak=None) for number in range(5)])
    assert [(row.slice, row.system) for row in result.rows] == [("all", "tiny")]
    assert result.rows[0].unsupported is None
    assert "documents are not known" in result.notes[0]
    assert len(result.tables()) == len(report([]).tables()) == 1


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        (
            {"scorable": False},
            "1 of 4 references have no word of a-z or 0-9, so their ROUGE is 0; other scripts need "
            "evaluate.tokenizer=unicode",
        ),
        ({"share_read": 0.0}, "1 of 4 documents are longer than the model reads; it read 75% of a document on average"),
        ({"mode": "extractive"}, "3 of 4 summaries (75%) are abstractive, the others are sentences of the document"),
    ],
)
def test_what_a_reader_must_know_is_noted(changes: dict[str, Any], note: str) -> None:
    documents = [replace(scored(number, leak=0.0), share_read=1.0, mode="abstractive") for number in range(4)]
    assert report(documents).notes == ()
    assert report([*documents[:3], replace(documents[3], **changes)]).notes == (note,)


def test_empty_summaries_are_noted() -> None:
    empty = SummaryMetrics({name: Score(0.0, 0.0, 0.0) for name in TYPES}, words=0, repetition=0.0, copying=None)
    scores = ScoreAggregator()
    scores.add(ScoredDocument("a", "", None, None, True, {"model": empty}))
    notes = scores.report(CONFIG, NAMES, "signature", ["from elsewhere"]).notes
    assert (notes[0], notes[-1]) == ("from elsewhere", "1 of 1 summaries are empty")


def test_the_signature_has_the_settings_of_the_interval() -> None:
    assert report([scored(1, leak=0.0)]).signature == (
        "signature | interval:95 %, bootstrap, 200 resamples, seed 1 | "
        "p:paired bootstrap, paired permutation, Holm over the pairs of a slice"
    )


def test_the_system_is_compared_with_each_baseline() -> None:
    result = report([scored(number, leak=0.0) for number in range(30)])
    assert [(item.slice, item.system, item.other, item.documents) for item in result.differences] == [
        (part, "tiny", other, 30) for part in ("all", "low-leak") for other in ("LEAD-60", "oracle-3")
    ]
    lead = result.differences[0].rouge["rouge1"]
    assert lead.difference.mean == pytest.approx(0.05, abs=0.01)
    assert lead.permutation < 0.02
    assert lead.wins + lead.ties + lead.losses == 30
    assert lead.wins > 25
    assert result.differences[0].holm["rouge1"] == pytest.approx(2 * lead.permutation)


def test_a_system_named_like_a_baseline_keeps_its_scores() -> None:
    scores = ScoreAggregator()
    for number in range(10):
        scores.add(scored(number, leak=0.0))
    result = scores.report(CONFIG, {**NAMES, "model": "LEAD-60"}, "signature")
    assert result.rows[0].rouge["rouge1"].mean > result.rows[1].rouge["rouge1"].mean
    assert result.differences[0].rouge["rouge1"].wins > 8


F1 = Estimate(1 / 3, 0.25, 0.5)
TEST = PairedTest(Estimate(0.05, -0.01, 0.06), bootstrap=0.25, permutation=0.125, wins=1200, ties=3, losses=40)


def row(part: str, system: str) -> ReportRow:
    return ReportRow(part, system, 1243, dict.fromkeys(TYPES, F1), 40.4, 0.02, None)


def exported(system: str = "tiny", holm: float = 0.375) -> EvaluationReport:
    difference = Difference(
        "all", system, "LEAD-60", 1243, dict.fromkeys(TYPES, TEST), {**dict.fromkeys(TYPES, 1.0), "rouge2": holm}
    )
    return EvaluationReport(
        rows=tuple(row(part, name) for part in ("all", "low-leak") for name in (system, "LEAD-60")),
        signature="signature 95 %\nsecond line",
        documents=1243,
        notes=("a note",),
        differences=(difference,),
    )


def test_scores_are_percent_with_intervals() -> None:
    titles, cells = score_table(exported())
    first = dict(zip(titles, cells[0], strict=True))
    assert first["ROUGE-1"] == "33.3 [25.0, 50.0]"
    assert (first["words"], first["repeated"], first["unsupported"], first["documents"]) == ("40", "2.0 %", "", "1,243")


def test_wins_are_those_of_all_documents() -> None:
    (difference,) = exported().differences
    titles, cells = win_table(replace(exported(), differences=(difference, replace(difference, slice="low-leak"))))
    assert len(titles) == len(cells[0])
    gains, wins = ("+5.0 [-1.0, +6.0]",) * 2, ("1,200/3/40",) * 2
    assert cells == [("LEAD-60", *gains, *wins, "0.250 / 0.250", "0.125 / 0.125", "1.000 / 1.000")]


def test_the_best_score_is_bold_but_for_the_oracle() -> None:
    scores = {"tiny": 0.4125, "other": 0.4131, "same": 0.4133, "oracle-3": 0.7}
    rows = tuple(
        replace(row("all", name), rouge={**row("all", name).rouge, "rouge2": Estimate(f1, 0.3, 0.8)})
        for name, f1 in scores.items()
    )
    found = replace(exported(), rows=rows)
    assert {system for _, system, name in best_scores(found) if name == "rouge2"} == {"other", "same"}
    cells = [cells[3] for cells in score_table(found)[1]]
    assert [isinstance(cell, Bold) for cell in cells] == [False, True, True, False]
    assert to_latex(found).count(r"\textbf{41.3}") == 2
    assert r"\textbf{70.0}" not in to_latex(found)


def test_names_are_one_cell_of_one_row() -> None:
    hostile = "a,b\n=c\r\u2028\u202e\u2800&\\x%"
    names = ("plain", hostile, *(payload[:1000] for payload in PAYLOADS))
    [rows] = {len(list(csv.DictReader(io.StringIO(to_csv(exported(name)))))) for name in names}
    assert rows == 4
    [lines] = {len(to_latex(exported(name)).splitlines()) for name in names}
    assert lines > rows
    for text in (to_csv(exported(hostile)), to_latex(exported(hostile))):
        assert not set("\u2028\u202e\u2800") & set(text)


def test_csv_has_unrounded_scores_and_tests() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(exported()))))
    assert [(item["slice"], item["system"]) for item in rows] == [
        (part, system) for part in ("all", "low-leak") for system in ("tiny", "LEAD-60")
    ]
    assert (float(rows[0]["rouge1"]), rows[0]["rouge1_low"], rows[0]["rougeLsum_high"]) == (1 / 3, "0.25", "0.5")
    assert (rows[0]["documents"], rows[0]["words"], rows[0]["unsupported"]) == ("1243", "40.4", "")
    assert [rows[1][f"rouge2_{name}"] for name in ("wins", "ties", "losses", "permutation", "holm")] == [
        *("1200", "3", "40", "0.125", "0.375")
    ]
    assert [item["rouge1_wins"] for item in rows] == ["", "1200", "", ""]


def test_no_cell_of_csv_is_a_formula() -> None:
    for name in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"):
        cells = [item["system"] for item in csv.DictReader(io.StringIO(to_csv(exported(name))))]
        assert cells[0] == cells[2] == f"'{name}".replace("\t", " ").replace("\r", " ").replace("\n", " ")


def test_latex_is_a_table_with_intervals_and_stars() -> None:
    lines = to_latex(exported(holm=0.01)).splitlines()
    assert lines[:2] == ["% a note", "% signature 95 % second line"]
    assert lines[2].startswith("% *: differs from tiny, permutation test, Holm, p < 0.05")
    assert r"\multicolumn{6}{l}{\emph{low-leak}, 1243 documents} \\" in lines
    cell = r"\textbf{33.3} {\scriptsize [25.0, 50.0]}"
    starred = cell.replace("33.3}", "33.3}$^*$")
    assert rf"LEAD-60 & {cell} & {starred} & {cell} & {cell} & 40 \\" in lines
    assert rf"tiny & {cell} & {cell} & {cell} & {cell} & 40 \\" in lines
    assert "$^*$" not in to_latex(exported())


def test_latex_escapes_every_special_character() -> None:
    assert escape_latex("a_b%c&d$e#f{g}h~i^j\\k<l>\n") == (
        r"a\_b\%c\&d\$e\#f\{g\}h\textasciitilde{}i\textasciicircum{}j\textbackslash{}k\textless{}l\textgreater{} "
    )
    hostile = to_latex(replace(exported(r"\input{/etc/passwd}%"), notes=("x\n\\input{y}",)))
    assert r"\textbackslash{}input\{/etc/passwd\}\% &" in hostile
    assert all(line.startswith("%") for line in hostile.splitlines() if "input{" in line)


ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "footer", "h1", "h2", "h3", "h4", "p", "em", "bdi"),
    *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd"),
    *("article", "details", "summary"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "role", "tabindex", "aria-label", "scope", "dir")
}


def scored_as(name: str, summary: str, f1: float) -> ScoredDocument:
    metrics = SummaryMetrics(dict.fromkeys(TYPES, Score(f1, f1, f1)), 9, 0.0, None)
    return ScoredDocument(name, summary, None, None, True, {"model": metrics})


def page(text: str, system: str = "tiny") -> str:
    plain = exported(system)
    (difference,) = plain.differences
    report = EvaluationReport(
        tuple(replace(row, slice=text) if row.slice == "low-leak" else row for row in plain.rows),
        f"signature {text}",
        1243,
        (f"note {text}",),
        (difference, replace(difference, other=text)),
    )
    scored = scored_as(text, f"hosts send {text}", 0.5)
    reference = ReferenceDocument(text, f"{text} hosts send", text * 3000)
    config = EvaluationConfig(tokenizer="unicode")
    return to_html(
        report, [(scored, reference)], [(scored, replace(reference, document=None))], config, {"model": text}, [system]
    )


def test_hostile_texts_are_texts() -> None:
    for text in (payload[:100] for payload in PAYLOADS):
        markup = page(text, system=text)
        markup.encode()
        parsed = Page(markup)
        assert {tag for tag, _ in parsed.elements} <= ALLOWED
        assert {name for _, attributes in parsed.elements for name in attributes} <= ATTRIBUTES
        unsafe = "[\x00-\x08\x0b-\x1f\u061c\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe]"
        assert not re.search(unsafe, markup)
        safe = re.sub(unsafe, "\ufffd", text)
        assert f"note {safe}" in parsed.parts
        assert parsed.parts.count(safe) >= 4  # id of two documents, name of a slice, origin
        assert f"Evaluation of {safe}" in parsed.parts


def test_the_page_holds_tables_documents_and_settings() -> None:
    parsed = Page(page("rfc7"))
    texts = " ".join(parsed.parts)
    for part in (
        "33.3 [25.0, 50.0]",
        "1,200/3/40",
        "Scores",
        "tiny minus other systems, on each document",
        "Best documents",
        "Worst documents",
        "evaluate.tokenizer",
        "unicode",
        "true",
        "none",
    ):
        assert part in texts
    assert parsed.parts.count("Beginning of the document") == 1  # the other document is unknown
    assert sum("rfc7" * 300 in text for text in parsed.parts) == 1
    assert "rfc7" * 400 not in texts
    assert '<th scope="col" class="name">system</th>' in page("rfc7")
    names = '<tr><th scope="row" class="name">all</th><th scope="row" class="name">tiny</th>'
    best = '<td class="best">33.3 [25.0, 50.0]</td>'
    assert f"{names}{4 * best}<td>1,243</td>" in page("rfc7")
    pair = "<h4>Summary</h4><p[^>]*>hosts send rfc7</p>.*<h4>Reference</h4><p[^>]*>rfc7 hosts send</p>"
    assert re.search(pair, page("rfc7"), re.DOTALL)


def test_empty_summaries_are_named() -> None:
    extreme = (scored_as("a", "", 0.0), ReferenceDocument("a", "hosts", None))
    assert "<em>empty</em>" in to_html(EvaluationReport((), "", 1, ()), [extreme], [], EvaluationConfig(), {}, ["a"])


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
            scored = scorer.score(Candidate(reference, summary))
            file.append(LINE.dump_json(scored).decode())
    finish_results(tmp_path / "results", "{}", documents)
    found = read_extremes(tmp_path / "results", references, count)
    assert [[scored.id for scored, _ in extremes] for extremes in found] == [list(best), list(worst)]
    first, reference = found[0][0]
    assert reference == references[int(best[0])]
    assert first.summary == " ".join(REFERENCE.split()[:documents])
    assert read_extremes(tmp_path / "results", references[:0], count) == ([], [])  # references that have vanished since
