import pytest

from sumpool.errors import RecipeError
from sumpool.studies.config import LanguageModelsConfig, LanguageModelTable
from sumpool.studies.language_models.grid import row_settings, study_grid


def names(study: LanguageModelTable, rows: tuple[str, ...] = ()) -> list[str]:
    return [row.name for row in study_grid(LanguageModelsConfig(table=study, rows=rows))]


def test_rows_are_chosen_by_name() -> None:
    assert names("boundaries", ("whitespace", "vanilla")) == ["vanilla", "whitespace"]
    with pytest.raises(RecipeError, match=r"study\.rows must be rows of boundaries \(vanilla, .*\), got fixed-9"):
        names("boundaries", ("fixed-9",))


def test_rows_replace_boundaries_and_middle_block() -> None:
    grid = {row.name: row for row in study_grid(LanguageModelsConfig(table="pareto"))}
    assert row_settings(grid["vanilla"], (2, 8, 2), 900) == {
        "model.layers": [12], "model.boundaries": [], "train.loss_weights": {}, "data.subwords": 900
    }  # fmt: skip
    unigram = row_settings(grid["unigram-500"], (1, 3, 2), 900)
    assert unigram["model.layers"] == [1, 3, 2]
    assert unigram["model.boundaries"] == [{"kind": "unigram"}]
    assert unigram["data.subwords"] == 500
    assert row_settings(grid["gumbel-0.3"], (1, 3, 2), 900)["train.loss_weights"] == {"boundaries": 1.0}
    deep = study_grid(LanguageModelsConfig(table="scaling", middle=(16,)))
    assert [row_settings(row, (2, 8, 2), 0)["model.layers"] for row in deep[:2]] == [[20], [2, 16, 2]]


def test_a_recipe_without_segments_is_refused() -> None:
    (row, *_) = study_grid(LanguageModelsConfig())
    with pytest.raises(RecipeError, match=r"model\.layers must have three numbers, such as \[2, 8, 2\], got \[12\]"):
        row_settings(row, (12,), 0)
