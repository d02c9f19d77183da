"""Rows of the studies of language models: boundaries, and layers of the middle block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sumpool.errors import RecipeError
from sumpool.studies.config import LanguageModelsConfig


@dataclass(frozen=True)
class StudyRow:
    """A model of a study.

    Attributes:
        name: Name of the row and, with the seed, of the folders of its runs.
        line: Rows that a picture joins by a line.
        family: Kind of the boundaries; `vanilla` without segments.
        boundaries: Settings of the boundaries; none without segments.
        middle: Layers of the middle block; None takes those of the recipe.
        subwords: Unigram subwords that teach the boundaries; 0 without.
        weight: Weight of the loss of the boundaries; None without one.
    """

    name: str
    line: str
    family: str
    boundaries: Mapping[str, Any] | None
    middle: int | None = None
    subwords: int = 0
    weight: float | None = None


def study_grid(config: LanguageModelsConfig) -> list[StudyRow]:
    """Return the rows of a study.

    Raises:
        RecipeError: If `study.rows` names others.
    """
    rows = _STUDIES[config.table](config)
    names = [row.name for row in rows]
    unknown = [name for name in config.rows if name not in names]
    if unknown:
        raise RecipeError(f"study.rows must be rows of {config.table} ({', '.join(names)}), got {unknown[0]}")
    return [row for row in rows if row.name in (config.rows or names)]


def row_settings(row: StudyRow, layers: Sequence[int], vocabulary: int) -> dict[str, Any]:
    """Return the settings of a row by path.

    Args:
        row: The row.
        layers: Layers of the recipe before, within and after the segments.
        vocabulary: Unigram subwords of the data of rows that are not taught by them, so that rows share their data.

    Raises:
        RecipeError: If the recipe has no or several blocks of segments.
    """
    if len(layers) != 3:
        raise RecipeError(f"model.layers must have three numbers, such as [2, 8, 2], got {list(layers)}")
    first, middle, last = layers
    middle = middle if row.middle is None else row.middle
    return {
        "model.layers": [first, middle, last] if row.boundaries else [first + middle + last],
        "model.boundaries": [dict(row.boundaries)] if row.boundaries else [],
        "train.loss_weights": {} if row.weight is None else {"boundaries": row.weight},
        "data.subwords": row.subwords or vocabulary,
    }


def _boundaries(config: LanguageModelsConfig) -> list[StudyRow]:
    """Table 1, in the order of the paper; names are the same in every study, so that studies share their runs."""
    learned = [_gumbel(config.prior), _entropy(), _unigram(config.vocabulary), _whitespace()]
    return [_vanilla(), *map(_fixed, config.fixed), *learned]


def _pareto(config: LanguageModelsConfig) -> list[StudyRow]:
    """Figure 3; whitespace and entropy, which have no setting, are points."""
    unigram, gumbel = map(_unigram, config.vocabularies), map(_gumbel, config.priors)
    return [_vanilla(), *map(_fixed, config.fixed), *unigram, *gumbel, _whitespace(), _entropy()]


def _scaling(config: LanguageModelsConfig) -> list[StudyRow]:
    """Figure 4: the rows of Table 1 with other middle blocks."""
    return [
        replace(row, name=f"{row.name}-{layers}", line=row.name, middle=layers)
        for row in _boundaries(config)
        for layers in config.middle
    ]


_STUDIES = {"boundaries": _boundaries, "pareto": _pareto, "scaling": _scaling}


def _vanilla() -> StudyRow:
    return StudyRow("vanilla", "vanilla", "vanilla", None)


def _fixed(size: int) -> StudyRow:
    return StudyRow(f"fixed-{size}", "fixed", "fixed", {"kind": "fixed", "size": size})


def _whitespace() -> StudyRow:
    return StudyRow("whitespace", "whitespace", "whitespace", {"kind": "whitespace"})


def _entropy() -> StudyRow:
    return StudyRow("entropy", "entropy", "entropy", {"kind": "entropy"}, weight=1.0)


def _unigram(subwords: int) -> StudyRow:
    return StudyRow(f"unigram-{subwords}", "unigram", "unigram", {"kind": "unigram"}, subwords=subwords, weight=1.0)


def _gumbel(prior: float) -> StudyRow:
    return StudyRow(f"gumbel-{prior:g}", "gumbel", "gumbel", {"kind": "gumbel", "rate": prior}, weight=1.0)
