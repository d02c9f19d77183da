"""Trained ranker of sentences: cue words and boosted trees, in one file without pickle.

`Ranker.score` needs numpy only; the ranker is fitted by `fit`, and `select` chooses sentences by its scores.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from sumpool.errors import CheckpointError
from sumpool.io.bounded import parse_json, read_tensor_entries
from sumpool.ranking.agreement_features import AGREEMENT_FEATURES
from sumpool.ranking.cues import cue_scores
from sumpool.ranking.features import FEATURES, SentenceFeatures
from sumpool.ranking.forest import Forest, Matrix, Values
from sumpool.ranking.word_features import ranks

FILE: Final = "ranker.safetensors"
"""Name of the file in a run folder."""
LEARNT: Final = (
    "cues",
    "cues_rank",
    "cues_before",
    "cues_after",
    "mean_cues",
    "max_cues",
    "heading_cues",
    "heading_cues_rank",
)
"""Names of the features that are learnt, behind those of `FEATURES`."""
SCORES: Final = ("score", "score_below_best", "score_rank")
"""Names of the features from the score by structure, before those of `AGREEMENT_FEATURES`."""
_BLOCK_ROWS = 4096
"""Candidates scored at once, so that the features of a book are not copied."""
_SCHEMA = 1
_DAMAGE = (OSError, SafetensorError, OverflowError, ValueError, LookupError, TypeError, AttributeError)
_ARRAYS = tuple(field.name for field in fields(Forest) if field.name != "base")


@dataclass(frozen=True)
class Cues:
    """Weights of cues.

    Attributes:
        sentence: Weight of each cue of a sentence.
        heading: Weight of each cue of the heading of a section.
    """

    sentence: Mapping[str, float]
    heading: Mapping[str, float]


@final
class Ranker:
    """Scores the candidates of a document; higher is better.

    Attributes:
        cues: Learnt cue words.
        structure: Trees over `FEATURES` and `LEARNT`.
        agreement: Trees over the score of `structure` and the agreement with sampled summaries; None without.
    """

    def __init__(self, cues: Cues, structure: Forest, agreement: Forest | None = None) -> None:
        self.cues = cues
        self.structure = structure
        self.agreement = agreement

    def score(self, features: SentenceFeatures) -> Values:
        """Return the score of each candidate, (candidates,); the agreement with samples counts if it is known."""
        if not len(features):
            return np.zeros(0)
        learnt = learnt_features(features, self.cues)
        blocks = range(0, len(features), _BLOCK_ROWS)
        rows = (
            np.hstack([table[start : start + _BLOCK_ROWS] for table in (features.values, learnt)]) for start in blocks
        )
        scores = np.concatenate([self.structure.predict(block) for block in rows])
        if self.agreement is None or features.agreement is None:
            return scores
        return self.agreement.predict(with_agreement(scores, features))

    def save(self, folder: Path) -> None:
        """Write the ranker into a folder, atomically.

        Raises:
            OSError: If the disk is full or fails.
        """
        # Imported by name, as most rankers are only read.
        import_module("sumpool.io.atomic").replace_file(folder / FILE, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the ranker's file."""
        forests = {"structure": self.structure, **({"agreement": self.agreement} if self.agreement else {})}
        arrays = {f"{name}.{array}": getattr(forest, array) for name, forest in forests.items() for array in _ARRAYS}
        content = {
            "schema": _SCHEMA,
            "features": [*FEATURES, *LEARNT],
            "agreement_features": list(AGREEMENT_FEATURES),
            "bases": {name: forest.base for name, forest in forests.items()},
            "cues": {"sentence": dict(self.cues.sentence), "heading": dict(self.cues.heading)},
        }
        metadata = {"ranker": json.dumps(content, ensure_ascii=False, sort_keys=True)}
        content_bytes: bytes = save(arrays, metadata)
        return content_bytes

    @classmethod
    def load(cls, folder: Path) -> "Ranker":
        """Read the ranker of a folder.

        Raises:
            CheckpointError: If the file is missing, damaged, or of another version.
        """
        path = folder / FILE
        try:
            read_tensor_entries(path)
            with safe_open(path, "numpy") as file:
                content = parse_json((file.metadata() or {})["ranker"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
            return cls._from_content(path, content, arrays)
        except _DAMAGE as error:
            raise CheckpointError(f"{path} must be a sentence ranker, got {error!r}; train it again") from error

    @classmethod
    def _from_content(cls, path: Path, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "Ranker":
        expected = (_SCHEMA, [*FEATURES, *LEARNT], list(AGREEMENT_FEATURES))
        if (content["schema"], content["features"], content["agreement_features"]) != expected:
            raise CheckpointError(
                f"{path} must have the features of this version of sumpool, got others; train the ranker again"
            )
        columns = {"structure": len(FEATURES) + len(LEARNT), "agreement": len(SCORES) + len(AGREEMENT_FEATURES)}
        forests = {
            name: Forest(**{array: arrays[f"{name}.{array}"] for array in _ARRAYS}, base=float(base)).validated(
                columns[name]
            )
            for name, base in content["bases"].items()
        }
        weights = {
            kind: {str(cue): float(weight) for cue, weight in cues.items()} for kind, cues in content["cues"].items()
        }
        return cls(Cues(weights["sentence"], weights["heading"]), forests["structure"], forests.get("agreement"))


def with_cues(features: SentenceFeatures, cues: Cues) -> Matrix:
    """Return the features of `FEATURES` and `LEARNT`, (candidates, features)."""
    return np.hstack([features.values, learnt_features(features, cues)])


def learnt_features(features: SentenceFeatures, cues: Cues) -> Matrix:
    """Return the features of `LEARNT`, (candidates, features)."""
    sentence = cue_scores(cues.sentence, features.words)
    known = {heading: index for index, heading in enumerate(dict.fromkeys(features.headings))}
    by_heading = cue_scores(cues.heading, list(known))
    heading = by_heading[[known[words] for words in features.headings]]
    before, after = np.roll(sentence, 1), np.roll(sentence, -1)
    before[:1], after[-1:] = np.nan, np.nan
    document = [np.full(len(features), value) for value in (sentence.mean(), sentence.max(initial=0.0))]
    learnt = np.column_stack([sentence, ranks(sentence), before, after, *document, heading, ranks(heading)])
    return learnt.astype(np.float32)


def with_agreement(scores: Values, features: SentenceFeatures) -> Matrix:
    """Return score and rank by structure and the agreement with samples, (candidates, features)."""
    assert features.agreement is not None
    table = np.column_stack([scores, scores - scores.max(), ranks(scores)]).astype(np.float32)
    return np.hstack([table, features.agreement])
