import re
from dataclasses import replace

from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.report import EvaluationReport, ReportRow
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.scorer import Form
from sumpool.evaluation.statistics import Estimate, PairedTest
from sumpool.evaluation.tables import difference_table, form_table, length_table, score_table, win_table
from sumpool.text.form import FAULTS

F1 = Estimate(0.4125, 0.4, 0.42)
TEST = PairedTest(Estimate(0.05, -0.01, 0.06), bootstrap=0.25, permutation=0.125, wins=1200, ties=3, losses=40)


FORM = Form(0, 0, dict.fromkeys(FAULTS, 0))


def row(part: str, system: str, documents: int = 1243, *, tested: bool = True) -> ReportRow:
    tests = dict.fromkeys(TYPES, TEST) if tested else {}
    return ReportRow(part, system, documents, dict.fromkeys(TYPES, F1), 40.4, 0.02, 0.5, 2.0, 0.25, None, tests, FORM)


def difference(part: str, other: str) -> Difference:
    return Difference(part, "tiny", other, 1243, dict.fromkeys(TYPES, TEST), dict.fromkeys(TYPES, 0.375))


REPORT = EvaluationReport(
    rows=(row("all", "tiny"), row("all", "LEAD-60", tested=False)),
    signature="signature",
    documents=1243,
    notes=(),
    length_rows=tuple(row(part, system, 600) for part in ("short", "long") for system in ("tiny", "LEAD-60")),
    baselines=(difference("all", "LEAD-60"), difference("low-leak", "LEAD-60")),
)


def test_scores_are_percent_with_intervals() -> None:
    titles, cells = score_table(REPORT)
    assert len(titles) == len(cells[0]) == len(cells[1])
    first = dict(zip(titles, cells[0], strict=True))
    assert first["ROUGE-1"] == "41.2 [40.0, 42.0]"
    assert (first["words"], first["repeated"], first["unsupported"], first["documents"]) == ("40", "2.0 %", "", "1,243")
    assert first["p vs LEAD (1 / Lsum)"] == "0.125 / 0.125"
    assert dict(zip(titles, cells[1], strict=True))["p vs LEAD (1 / Lsum)"] == ""


def test_systems_are_rows_and_lengths_columns() -> None:
    titles, cells = length_table(REPORT)
    assert titles == ("system", "short", "long")
    assert cells == [
        ("tiny", "41.2 / 41.2 / 41.2", "41.2 / 41.2 / 41.2"),
        ("LEAD-60", "41.2 / 41.2 / 41.2", "41.2 / 41.2 / 41.2"),
        ("documents", "600", "600"),
    ]
    assert length_table(EvaluationReport((), "", 0, ()))[1] == []


def test_wins_are_those_of_all_documents() -> None:
    titles, cells = win_table(REPORT)
    assert len(titles) == len(cells[0])
    assert cells == [
        ("LEAD-60", "1,200/3/40", "1,200/3/40", "0.250 / 0.250", "0.125 / 0.125", "0.375 / 0.375"),
    ]


def test_differences_have_signs() -> None:
    titles, cells = difference_table([difference("all", "other")])
    first = dict(zip(titles, cells[0], strict=True))
    assert first["compared"] == "tiny - other"
    assert re.fullmatch(r"\+5\.0 \[-1\.0, \+6\.0\]", first["ROUGE-2"])
    assert first["p (1 / Lsum)"] == "0.125 / 0.125"
    assert first["won/tied/lost (1, Lsum)"] == "1,200/3/40, 1,200/3/40"
    assert "p Holm" not in first


def test_several_pairs_have_corrected_p_values() -> None:
    titles, cells = difference_table([difference("all", "one"), difference("all", "two")])
    assert [dict(zip(titles, row, strict=True))["p Holm"] for row in cells] == ["0.375 / 0.375"] * 2


def test_bertscore_is_a_column_where_it_was_asked_for() -> None:
    scored = replace(REPORT, rows=(replace(REPORT.rows[0], bertscore=F1), REPORT.rows[1]))
    titles, cells = score_table(scored)
    assert titles[5:8] == ("ROUGE-Lsum", "BERTScore", "documents")
    assert [row[6] for row in cells] == ["41.2 [40.0, 42.0]", ""]
    assert "BERTScore" not in score_table(REPORT)[0]


def test_faults_are_counted_by_system_on_all_documents() -> None:
    form = Form(1301, 7, dict.fromkeys(FAULTS, 0) | {"no end": 1002})
    rows = tuple(replace(row, form=form) for row in (REPORT.rows[0], replace(REPORT.rows[0], slice="low-leak")))
    titles, cells = form_table(replace(REPORT, rows=rows))
    assert len(titles) == len(cells[0])
    shown = dict(zip(titles, cells[0], strict=True))
    assert (shown["system"], shown["sentences"], shown["no end"], shown["heading"]) == ("tiny", "1,301", "1,002", "0")
    assert shown["summaries with faults"] == "7 of 1,243"
    assert len(cells) == 1
