import json
from dataclasses import asdict

from sumpool.evaluation.report import EvaluationReport, ReportRow
from sumpool.evaluation.rouge import TYPES
from sumpool.evaluation.statistics import Estimate

ROW = ReportRow(
    "all", "Größe", 3, dict.fromkeys(TYPES, Estimate(1 / 3, 0.2, 0.4)), 40.0, 0.0, None, None, None, None, {}
)


def test_json_is_unrounded_and_readable() -> None:
    report = EvaluationReport((ROW,), "signature", 3, ("note",))
    text = report.to_json()
    assert json.loads(text) == json.loads(json.dumps(asdict(report)))
    assert json.loads(text)["rows"][0]["rouge"]["rougeL"]["mean"] == 1 / 3
    assert "Größe" in text
    assert text.endswith("\n")
