import json
import re
from pathlib import Path

import numpy as np
import pytest

from sumpool.errors import DataError
from sumpool.evaluation.abstractiveness import Copying
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.paired_comparison import compare_results, difference_table
from sumpool.evaluation.rouge import TYPES, Score
from sumpool.evaluation.scorer import ScoredDocument, SummaryMetrics
from sumpool.evaluation.scores import append_scores, open_scores

CONFIG = EvaluationConfig(resamples=200)


def results(folder: Path, f1s: dict[str, float], settings: str = "usual") -> Path:
    with open_scores(folder, {"settings": settings}, resume=False) as file:
        for number, (name, f1) in enumerate(f1s.items()):
            copying = Copying(0.5, 2.0, 0.25, leak=0.0, facts=0, unsupported=0)
            metrics = SummaryMetrics({kind: Score(0.0, 0.0, f1) for kind in TYPES}, 40, 0.0, copying)
            document = ScoredDocument(name, "text", 0.5 * (number % 2), None, True, {"model": metrics})
            append_scores(file, document)
    return folder


def test_documents_are_matched_by_id(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    theirs = {f"d{number}": float(random.uniform(0.2, 0.5)) for number in range(40)}
    ours = {name: f1 + 0.05 + float(random.normal(0, 0.01)) for name, f1 in theirs.items()}
    shuffled = dict(reversed(list(theirs.items())))
    result = compare_results(results(tmp_path / "a", ours), results(tmp_path / "b", {**shuffled, "more": 0.9}), CONFIG)
    assert [(difference.slice, difference.documents) for difference in result] == [("all", 40), ("low-leak", 20)]
    expected = np.mean([ours[name] - theirs[name] for name in theirs])
    assert result[0].rouge["rouge1"].difference.mean == pytest.approx(expected)
    assert result[0].rouge["rouge1"].permutation < 0.01
    titles, cells = difference_table(result)
    assert len(titles) == len(cells[0])
    assert re.fullmatch(r"\+5\.\d \[\+[45]\.\d, \+5\.\d\]", cells[0][2])


def test_incomparable_results_are_refused(tmp_path: Path) -> None:
    ours = results(tmp_path / "a", {"d1": 0.3})
    with pytest.raises(DataError, match="same settings, got 'other' and here 'usual'"):
        compare_results(ours, results(tmp_path / "b", {"d1": 0.3}, "other"), CONFIG)
    with pytest.raises(DataError, match=r"must contain documents that .* has too, got none"):
        compare_results(ours, results(tmp_path / "c", {"d2": 0.3}), CONFIG)
    (tmp_path / "a" / "evaluation.json").write_text(json.dumps([]))
    with pytest.raises(DataError, match="must contain the results of an evaluation"):
        compare_results(ours, tmp_path / "c", CONFIG)
