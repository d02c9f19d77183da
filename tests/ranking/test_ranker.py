import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sumpool.errors import CheckpointError
from sumpool.ranking.config import BoostingConfig, RankingConfig
from sumpool.ranking.features import FEATURES
from sumpool.ranking.fit import fit_ranker
from sumpool.ranking.ranker import FILE, Ranker
from tests.ranking.planted import example, featured

CONFIG = RankingConfig(
    min_documents=5, ridge=1.0, boosting=BoostingConfig(trees=40, leaves=6, min_rows=5, subsample=0.8)
)


@pytest.fixture(scope="module")
def ranker() -> Ranker:
    return fit_ranker([example(seed, "ab"[seed % 2]) for seed in range(80)], CONFIG)


def test_the_planted_sentence_is_ranked_first(ranker: Ranker) -> None:
    examples = [example(seed) for seed in range(100, 130)]
    hits = sum(int(ranker.score(item.features).argmax()) == int(item.labels.argmax()) for item in examples)
    assert hits >= 29
    assert ranker.cues.sentence["^we describe"] > 0


def test_training_is_deterministic(ranker: Ranker) -> None:
    again = fit_ranker([example(seed, "ab"[seed % 2]) for seed in range(80)], CONFIG)
    features = example(100).features
    np.testing.assert_array_equal(again.score(features), ranker.score(features))


def test_a_saved_ranker_scores_the_same(ranker: Ranker, tmp_path: Path) -> None:
    ranker.save(tmp_path)
    features = example(100).features
    np.testing.assert_array_equal(Ranker.load(tmp_path).score(features), ranker.score(features))


def test_a_document_without_candidates_has_no_scores(ranker: Ranker) -> None:
    features, _ = featured("# Heading\n\n| a |\n")
    assert features.values.shape == (0, len(FEATURES))
    assert ranker.score(features).shape == (0,)


def test_candidates_are_scored_in_blocks(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    features = example(100).features
    whole = ranker.score(features)
    monkeypatch.setattr("sumpool.ranking.ranker._BLOCK_ROWS", 4)
    np.testing.assert_array_equal(ranker.score(features), whole)


def test_no_example_is_an_error() -> None:
    with pytest.raises(ValueError, match="examples must have at least one candidate, got none"):
        fit_ranker([], CONFIG)


@pytest.mark.parametrize("damage", ["missing", "truncated", "other file", "array", "children"])
def test_a_damaged_file_is_an_error(ranker: Ranker, tmp_path: Path, damage: str) -> None:
    ranker.save(tmp_path)
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
    ranker.save(tmp_path)
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
