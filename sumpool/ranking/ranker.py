"""Trained ranker of sentences: cue words and boosted trees, in one file without pickle.

`Ranker.score` needs numpy only; the ranker is fitted by `fit`, and `select` chooses sentences by its scores.
"""

import json
from collections.abc import Mapping, Sequence
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
_DEPENDENCE, _JUNK, _FRAGMENT = 0.2, 0.2, 0.2
"""Costs of a sentence that certainly does not stand alone, has no content, or begins in lower case, on the scale of
marks."""
_IN_REFERENCES = 0.5
"""Weight of the score that has learnt from reference summaries; marks have few RFCs and papers."""
_CHOICE: Final = ("preference", "dependence", "junk")
"""Forests of `Choice`."""
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


@dataclass(frozen=True)
class Choice:
    """Trees over `FEATURES`, `LEARNT` and `SCORES` that have learnt from marks of readers.

    Attributes:
        preference: How much a reader wants a sentence in a short summary, from 0 to 1.
        dependence: Probability that it cannot be understood without the text around it.
        junk: Probability that it has no content.
    """

    preference: Forest
    dependence: Forest
    junk: Forest


@final
class Ranker:
    """Scores the candidates of a document; higher is better.

    Attributes:
        cues: Learnt cue words.
        structure: Trees over `FEATURES` and `LEARNT`, which have learnt from reference summaries.
        agreement: Trees over the score of `structure` and the agreement with sampled summaries; None without.
        choice: Trees that have learnt from marks of readers; None without.
    """

    def __init__(
        self, cues: Cues, structure: Forest, agreement: Forest | None = None, choice: Choice | None = None
    ) -> None:
        self.cues = cues
        self.structure = structure
        self.agreement = agreement
        self.choice = choice

    def score(self, features: SentenceFeatures) -> Values:
        """Return the score of each candidate, (candidates,); the agreement with samples counts if it is known."""
        if not len(features):
            return np.zeros(0)
        scores = _predict(self.structure, (features.values, learnt_features(features, self.cues)))
        if self.agreement is None or features.agreement is None:
            return scores
        return self.agreement.predict(np.hstack([score_features(scores), features.agreement]))

    def preferences(self, features: SentenceFeatures) -> Values:
        """Return how much a reader wants each candidate in a short summary, (candidates,).

        The scale is that of marks: 1 for the first sentence of a reader's summary, 0 for one that it should not have.
        Sentences that reference summaries would have gain, those that do not stand alone, have no content or begin in
        lower case lose.

        Raises:
            ValueError: If the ranker has not learnt from marks.
        """
        if self.choice is None:
            raise ValueError("the ranker must have learnt from marks of readers, got one without")
        if not len(features):
            return np.zeros(0)
        tables = self.choice_features(features)
        preference, dependence, junk = (_predict(getattr(self.choice, name), tables) for name in _CHOICE)
        in_references = np.maximum(tables[-1][:, SCORES.index("score")], 0)
        is_fragment = features.values[:, FEATURES.index("starts_in_lower_case")]
        costs = _DEPENDENCE * dependence + _JUNK * junk + _FRAGMENT * is_fragment
        return np.asarray(preference + _IN_REFERENCES * in_references - costs, np.float64)

    def choice_features(self, features: SentenceFeatures) -> tuple[Matrix, ...]:
        """Return the tables of features of `Choice`, side by side, (candidates, features) each."""
        learnt = learnt_features(features, self.cues)
        scores = _predict(self.structure, (features.values, learnt))
        return features.values, learnt, score_features(scores)

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
        forests |= {name: getattr(self.choice, name) for name in _CHOICE} if self.choice else {}
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
        structure = len(FEATURES) + len(LEARNT)
        columns = {"structure": structure, "agreement": len(SCORES) + len(AGREEMENT_FEATURES)}
        columns |= dict.fromkeys(_CHOICE, structure + len(SCORES))
        forests = {
            name: Forest(**{array: arrays[f"{name}.{array}"] for array in _ARRAYS}, base=float(base)).validated(
                columns[name]
            )
            for name, base in content["bases"].items()
        }
        weights = {
            kind: {str(cue): float(weight) for cue, weight in cues.items()} for kind, cues in content["cues"].items()
        }
        cues = Cues(weights["sentence"], weights["heading"])
        choice = Choice(*(forests[name] for name in _CHOICE)) if _CHOICE[0] in forests else None
        return cls(cues, forests["structure"], forests.get("agreement"), choice)


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


def score_features(scores: Values) -> Matrix:
    """Return the features of `SCORES`, (candidates, features)."""
    return np.column_stack([scores, scores - scores.max(), ranks(scores)]).astype(np.float32)


def _predict(forest: Forest, tables: Sequence[Matrix]) -> Values:
    """Return predictions for tables side by side, some rows at a time."""
    rows = range(0, len(tables[0]), _BLOCK_ROWS)
    blocks = (np.hstack([table[start : start + _BLOCK_ROWS] for table in tables]) for start in rows)
    return np.concatenate([forest.predict(block) for block in blocks])
