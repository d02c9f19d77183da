from pathlib import Path

import pytest

from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.html_report import read_distribution
from sumpool.evaluation.scorer import Candidate, ReferenceDocument, SummaryScorer
from sumpool.evaluation.scores import append_scores, finish_results, open_scores

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
