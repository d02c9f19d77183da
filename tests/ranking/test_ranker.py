import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sumpool.errors import CheckpointError
from sumpool.ranking.boosting import Boosting
from sumpool.ranking.fit import Fitting, fit_ranker
from sumpool.ranking.ranker import (
    FILE,
    LEAF,
    LEARNT,
    ChoicePrediction,
    Cues,
    DocumentClassifier,
    Forest,
    Ranker,
    learnt_features,
)
from tests.ranking.planted import example, featured

CONFIG = Fitting(min_documents=5, ridge=1.0, boosting=Boosting(trees=40, leaves=6, min_rows=5, subsample=0.8))


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    return fit_ranker([example(seed, "ab"[seed % 2]) for seed in range(80)], CONFIG)


def test_the_planted_sentence_is_ranked_first(ranker: Ranker) -> None:
    examples = [example(seed) for seed in range(100, 130)]
    hits = sum(int(ranker.score(item.features).argmax()) == int(item.labels.argmax()) for item in examples)
    assert hits >= 29
    assert ranker.cues.sentence["^we describe"] > 0
    inputs = ranker.inputs(examples[0].features)
    assert inputs.tables[2][:, 1] == pytest.approx(inputs.scores - inputs.scores.max())


def test_training_is_deterministic(ranker: Ranker) -> None:
    again = fit_ranker([example(seed, "ab"[seed % 2]) for seed in range(80)], CONFIG)
    features = example(100).features
    np.testing.assert_array_equal(again.score(features), ranker.score(features))


def test_a_saved_ranker_scores_the_same(ranker: Ranker, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(ranker.to_bytes())
    features = example(100).features
    np.testing.assert_array_equal(Ranker.load(tmp_path).score(features), ranker.score(features))


def test_a_document_without_candidates_has_no_scores(ranker: Ranker) -> None:
    features, _ = featured("# Heading\n\n| a |\n")
    assert ranker.score(features).shape == (0,)


def test_candidates_are_scored_in_blocks(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    features = example(100).features
    whole = ranker.score(features)
    monkeypatch.setattr("sumpool.ranking.ranker._BLOCK_ROWS", 4)
    np.testing.assert_array_equal(ranker.score(features), whole)


def test_references_raise_what_readers_want_and_costs_lower_it() -> None:
    choice = ChoicePrediction(np.full(3, 0.6), np.full(3, 0.1), np.zeros(3))
    unlike, unknown, like = choice.combine(np.array([-1.0, 0.0, 1.0]))
    assert like > unknown == unlike == pytest.approx(0.5)


def test_values_of_documents_are_compared_in_standard_deviations() -> None:
    classifier = DocumentClassifier(np.array([1.0, 2.0]), np.array([2.0, 0.5]), np.array([1.0, 1.0]), 1.0)
    assert classifier.standardised(np.array([[3.0, 1.0], [99.0, 2.0]])).tolist() == [[1, -2], [5, 0]]
    assert classifier.classify(np.array([3.0, 1.1]))
    assert not classifier.classify(np.array([3.0, 1.0]))


def test_learnt_features_are_cues_of_sentences_and_headings() -> None:
    features, _ = featured("# Part\n\nWe show the gateway. The packet waits for the router. We drop the packet.")
    values = learnt_features(features, Cues({"^we": 2.0, "packet": -1.0}, {"part": 0.5}))
    by_name = dict(zip(LEARNT, values.T.tolist(), strict=True))
    cues = [2.0, -1.0, pytest.approx(1 / 2**0.5)]
    assert (by_name["cues"], by_name["cues_rank"], by_name["heading_cues"]) == (cues, [1.0, 0.0, 0.5], [0.5] * 3)
    assert (by_name["cues_before"][1:], by_name["cues_after"][:2]) == (cues[:2], cues[1:])
    assert np.isnan([by_name["cues_before"][0], by_name["cues_after"][2]]).all()
    assert (by_name["max_cues"], by_name["mean_cues"]) == ([2.0] * 3, [pytest.approx((1 + 1 / 2**0.5) / 3)] * 3)


def test_no_example_is_an_error() -> None:
    with pytest.raises(ValueError, match="examples must have at least one candidate, got none"):
        fit_ranker([], CONFIG)


@pytest.mark.parametrize("damage", ["missing", "truncated", "other file", "array", "children"])
def test_a_damaged_file_is_an_error(ranker: Ranker, tmp_path: Path, damage: str) -> None:
    (tmp_path / FILE).write_bytes(ranker.to_bytes())
    path = tmp_path / FILE
    arrays = load_file(path)
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "other file":
        save_file(arrays, path)
    else:
        metadata = {"ranker": json.dumps(_metadata(path))}
        arrays["structure.left"] = arrays["structure.left"][:-1] if damage == "array" else arrays["structure.left"] * 0
        save_file(arrays, path, metadata)
    with pytest.raises(CheckpointError, match=r"ranker\.safetensors must be a sentence ranker, got .*; train it again"):
        Ranker.load(tmp_path)


def test_a_file_with_other_features_is_an_error(ranker: Ranker, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(ranker.to_bytes())
    path = tmp_path / FILE
    content = {**_metadata(path), "features": ["position"]}
    save_file(load_file(path), path, {"ranker": json.dumps(content)})
    with pytest.raises(CheckpointError, match="must have the features of this version of sumpool, got others"):
        Ranker.load(tmp_path)


def _metadata(path: Path) -> dict[str, object]:
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    metadata: dict[str, object] = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["ranker"])
    return metadata


FOREST = Forest(
    roots=np.array([0, 3], np.int32),
    feature=np.array([1, LEAF, LEAF, LEAF], np.int16),
    threshold=np.array([0.5, 0, 0, 0], np.float32),
    left=np.array([1, 0, 0, 0], np.int32),
    value=np.array([0, 1, 2, 10], np.float32),
    base=0.25,
)


def test_the_trees_are_added() -> None:
    rows = np.array([[9, 0.5], [9, 0.6], [9, np.nan]], np.float32)
    assert FOREST.predict(rows).tolist() == [11.25, 12.25, 11.25]
    assert FOREST.predict(rows[:0]).shape == (0,)
    assert FOREST.predict(np.tile(rows, (1000, 1))).tolist() == [11.25, 12.25, 11.25] * 1000


def test_an_invalid_forest_is_an_error() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"left": np.array([1], np.int32)}, "arrays of a forest must be of one length"),
        ({"left": np.array([0, 0, 0, 0], np.int32)}, "children of a forest must stand behind their parents"),
        ({"left": np.array([3, 0, 0, 0], np.int32)}, "children of a forest must stand behind their parents"),
        ({"roots": np.array([4], np.int32)}, "children of a forest must stand behind their parents"),
        ({"roots": np.array([0, 2], np.int32)}, "one of each, got others"),
        ({"feature": np.array([2, -1, -1, -1], np.int16)}, "features of a forest must be below 2, got 2"),
    ]
    for change, message in cases:
        with pytest.raises(ValueError, match=message):
            replace(FOREST, **change).validated(2)
        assert FOREST.validated(2) is FOREST
    chain = np.arange(129, dtype=np.int32)  # 64 splits, each with a leaf on its left
    is_leaf = (chain % 2 == 1) | (chain == 128)
    feature, left = np.where(is_leaf, LEAF, 0).astype(np.int16), np.where(is_leaf, 0, chain + 1)
    forest = Forest(chain[:1], feature, chain.astype(np.float32), left, np.zeros(129, np.float32), 0.0)
    with pytest.raises(ValueError, match="trees of a forest must have at most 64 leaves, got 65"):
        forest.validated(1)


def test_the_masks_of_many_trees_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.ranking.ranker._MAX_CELLS", 3)
    with pytest.raises(ValueError, match="a forest must have at most 3 pairs of a tree and a threshold, got more"):
        replace(FOREST).validated(2)
