import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from sumpool.errors import DataError
from sumpool.evaluation.report import compare_systems
from sumpool.evaluation.rouge import TYPES, Score
from sumpool.evaluation.scorer import ScoredDocument, SummaryMetrics
from sumpool.evaluation.scores import append_scores, finish_results, incomplete_folder, open_scores, read_common
from sumpool.evaluation.statistics import holm
from sumpool.text.fragments import Copying


def results(folder: Path, f1s: dict[str, float], settings: str = "usual", words: int | None = None) -> Path:
    with open_scores(folder, {"rouge": settings}, resume=False) as file:
        for number, (name, f1) in enumerate(f1s.items()):
            copying = Copying(leak=0.0, facts=0, unsupported=0)
            metrics = SummaryMetrics({kind: Score(0.0, 0.0, f1) for kind in TYPES}, 40, 0.0, copying)
            document = ScoredDocument(name, "text", 0.5 * (number % 2), None, True, {"model": metrics}, words)
            append_scores(file, document)
    finish_results(folder, "{}", documents=len(f1s))
    return folder


def test_documents_are_matched_by_id(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    theirs = {f"d{number}": float(random.uniform(0.2, 0.5)) for number in range(40)}
    ours = {name: f1 + 0.05 + float(random.normal(0, 0.01)) for name, f1 in theirs.items()}
    shuffled = dict(reversed(list(theirs.items())))
    common = read_common({"a": results(tmp_path / "a", ours), "b": results(tmp_path / "b", {**shuffled, "more": 0.9})})
    assert list(common) == list(ours)
    scores = {name: [scored.systems["model"].rouge["rouge1"].f1 for scored in both] for name, both in common.items()}
    assert scores == {name: [ours[name], theirs[name]] for name in ours}
    only = read_common({"a": tmp_path / "a", "c": results(tmp_path / "c", {"d7": 0.3, "d3": 0.2}), "b": tmp_path / "b"})
    assert [(name, len(systems)) for name, systems in only.items()] == [("d3", 3), ("d7", 3)]


def test_one_system_is_compared_with_the_others() -> None:
    random = np.random.default_rng(1)
    systems = {
        name: 0.3 + gain + random.normal(0, 0.02, (60, 4)) for name, gain in (("a", 0), ("b", 0.003), ("c", 0.05))
    }
    result = compare_systems("all", systems, [("b", "a"), ("b", "c")], 200)
    assert [(item.system, item.other, item.documents) for item in result] == [("b", "a", 60), ("b", "c", 60)]
    (alone,) = compare_systems("all", systems, [("b", "c")], 200)
    for name, expected in alone.rouge.items():
        assert astuple(result[1].rouge[name].difference) == pytest.approx(astuple(expected.difference))
        assert result[1].rouge[name].permutation == expected.permutation
    p_values = [item.rouge["rouge2"].permutation for item in result]
    assert [item.holm["rouge2"] for item in result] == holm(p_values) != p_values
    test = result[1].rouge["rouge1"]
    gains = systems["b"][:, 0] - systems["c"][:, 0]
    assert test.difference.mean == pytest.approx(gains.mean())
    assert test.losses == (gains < 0).sum() > 50
    assert test.wins + test.ties + test.losses == 60


def test_incomparable_results_are_refused(tmp_path: Path) -> None:
    ours = results(tmp_path / "a", {"d1": 0.3})
    with pytest.raises(DataError, match="same settings, got 'other' and here 'usual'"):
        read_common({"a": ours, "b": results(tmp_path / "b", {"d1": 0.3}, "other")})
    with pytest.raises(DataError, match=r"must contain documents that .* has too, got none"):
        read_common({"a": ours, "b": results(tmp_path / "c", {"d2": 0.3})})
    lengths = {name: results(tmp_path / name, {"d1": 0.3}, words=words) for name, words in (("x", 70), ("y", 80))}
    with pytest.raises(DataError, match="must have summarised the same documents, got d1 with 70 and 80 words"):
        read_common({"a": ours, **lengths})
    with (tmp_path / "c" / "documents.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(DataError, match="it is damaged or was changed"):
        read_common({"a": ours, "b": tmp_path / "c"})
    (tmp_path / "c" / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"c/manifest\.json must be readable"):
        read_common({"a": ours, "b": tmp_path / "c"})
    with open_scores(tmp_path / "d", {"rouge": "usual"}, resume=False):
        unfinished = incomplete_folder(tmp_path / "d")
    (unfinished / "evaluation.json").write_text(json.dumps([]))
    with pytest.raises(DataError, match="must contain the results of an evaluation"):
        read_common({"d": unfinished, "a": ours})
