import json
from pathlib import Path

import numpy as np
import pytest

from sumpool.errors import DataError
from sumpool.evaluation.abstractiveness import Copying
from sumpool.evaluation.config import EvaluationConfig
from sumpool.evaluation.paired_comparison import compare_results, find_results
from sumpool.evaluation.rouge import TYPES, Score
from sumpool.evaluation.scorer import Form, ScoredDocument, SummaryMetrics
from sumpool.evaluation.scores import append_scores, finish_results, incomplete_folder, open_scores
from sumpool.evaluation.statistics import holm

CONFIG = EvaluationConfig(resamples=200)


def results(folder: Path, f1s: dict[str, float], settings: str = "usual") -> Path:
    with open_scores(folder, {"rouge": settings}, resume=False) as file:
        for number, (name, f1) in enumerate(f1s.items()):
            copying = Copying(0.5, 2.0, 0.25, leak=0.0, facts=0, unsupported=0)
            metrics = SummaryMetrics({kind: Score(0.0, 0.0, f1) for kind in TYPES}, 40, 0.0, copying, Form(0, 0, {}))
            document = ScoredDocument(name, "text", 0.5 * (number % 2), None, True, {"model": metrics})
            append_scores(file, document)
    finish_results(folder, "{}", documents=len(f1s))
    return folder


def test_documents_are_matched_by_id(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    theirs = {f"d{number}": float(random.uniform(0.2, 0.5)) for number in range(40)}
    ours = {name: f1 + 0.05 + float(random.normal(0, 0.01)) for name, f1 in theirs.items()}
    shuffled = dict(reversed(list(theirs.items())))
    folders = {"a": results(tmp_path / "a", ours), "b": results(tmp_path / "b", {**shuffled, "more": 0.9})}
    result = compare_results(folders, CONFIG)
    assert [(difference.slice, difference.documents) for difference in result] == [("all", 40), ("low-leak", 20)]
    expected = np.mean([ours[name] - theirs[name] for name in theirs])
    assert result[0].rouge["rouge1"].difference.mean == pytest.approx(expected)
    assert result[0].rouge["rouge1"].permutation < 0.01
    assert (result[0].system, result[0].other) == ("a", "b")
    assert result[0].holm["rouge1"] == result[0].rouge["rouge1"].permutation


def test_three_systems_are_compared_pair_by_pair(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    folders = {}
    for name, gain in (("a", 0.0), ("b", 0.003), ("c", 0.05)):
        f1s = {f"d{number}": 0.3 + gain + float(random.normal(0, 0.02)) for number in range(60)}
        folders[name] = results(tmp_path / name, f1s)
    result = [item for item in compare_results(folders, CONFIG) if item.slice == "all"]
    assert [(item.system, item.other) for item in result] == [("a", "b"), ("a", "c"), ("b", "c")]
    alone = compare_results({name: folders[name] for name in ("b", "c")}, CONFIG)[0]
    assert result[2].rouge == alone.rouge
    p_values = [item.rouge["rouge2"].permutation for item in result]
    assert [item.holm["rouge2"] for item in result] == holm(p_values) != p_values
    test = result[1].rouge["rouge1"]
    assert test.losses > 50
    assert test.wins + test.ties + test.losses == 60


def test_results_are_found_in_runs(tmp_path: Path) -> None:
    scores = results(tmp_path / "run" / "evaluation" / "test", {"d1": 0.3})
    assert find_results(tmp_path / "run", "test") == find_results(scores, "test") == scores
    with pytest.raises(DataError, match=r"run must contain the results of an evaluation \(documents"):
        find_results(tmp_path / "run", "validation")


def test_incomparable_results_are_refused(tmp_path: Path) -> None:
    ours = results(tmp_path / "a", {"d1": 0.3})
    with pytest.raises(DataError, match="same settings, got 'other' and here 'usual'"):
        compare_results({"a": ours, "b": results(tmp_path / "b", {"d1": 0.3}, "other")}, CONFIG)
    with pytest.raises(DataError, match=r"must contain documents that .* has too, got none"):
        compare_results({"a": ours, "b": results(tmp_path / "c", {"d2": 0.3})}, CONFIG)
    with (tmp_path / "c" / "documents.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(DataError, match="it is damaged or was changed"):
        compare_results({"a": ours, "b": tmp_path / "c"}, CONFIG)
    (tmp_path / "c" / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"c/manifest\.json must be readable"):
        compare_results({"a": ours, "b": tmp_path / "c"}, CONFIG)
    with open_scores(tmp_path / "d", {"rouge": "usual"}, resume=False):
        unfinished = incomplete_folder(tmp_path / "d")
    (unfinished / "evaluation.json").write_text(json.dumps([]))
    with pytest.raises(DataError, match="must contain the results of an evaluation"):
        compare_results({"d": unfinished, "a": ours}, CONFIG)
