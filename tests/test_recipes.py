"""Every variant has a recipe, and every recipe and sweep can be used."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from sumpool.data.config import DataConfig
from sumpool.recipe.load import dump_recipe, load_any_recipe, read_tree
from sumpool.settings import kinds
from sumpool.tasks.language_modeling.config import TextDataConfig
from sumpool.workflows.sweep import load_sweep

RECIPES = Path(__file__).parents[1] / "recipes"
SWEEPS = sorted(path for path in RECIPES.rglob("*.yaml") if "sweep" in read_tree(path))
FILES = sorted({*RECIPES.rglob("*.yaml")} - {*SWEEPS})


def families() -> list[str]:
    """Packages and modules of the core that hold variants, by their names."""
    core = import_module("sumpool.core")
    return [
        module.name
        for module in iter_modules(core.__path__)
        if (Path(core.__path__[0]) / module.name / "_base.py").is_file()
        or (not module.ispkg and kinds(f"sumpool.core.{module.name}"))
    ]


def test_every_variant_has_a_recipe_and_a_row_of_the_documentation_and_every_recipe_a_variant() -> None:
    expected = {f"{family}/{kind}.yaml" for family in families() for kind in kinds(f"sumpool.core.{family}")}
    found = {str(path.relative_to(RECIPES / "variants")) for path in (RECIPES / "variants").rglob("*.yaml")}
    assert found == expected
    assert len(found) >= 7
    rows = (RECIPES.parent / "docs/variants.md").read_text().splitlines()
    for family in families():
        for kind in kinds(f"sumpool.core.{family}"):
            assert any(row.startswith(f"| `{kind}` |") for row in rows), f"{family}/{kind}"


@pytest.mark.parametrize("every", [6, pytest.param(2, marks=pytest.mark.slow)])
def test_recipes_load_and_are_dumped_to_equal_ones(every: int, tmp_path: Path) -> None:
    for path in FILES[::every]:
        recipe = load_any_recipe(path)
        dumped = tmp_path / "recipe.yaml"
        dumped.write_text(dump_recipe(recipe))
        assert load_any_recipe(dumped) == recipe, path
        if path.is_relative_to(RECIPES / "variants"):
            assert f"kind: {path.stem}" in path.read_text(), path
            assert recipe.name == f"{path.parent.name}-{path.stem}"


def test_names_and_prepared_data_are_unique() -> None:
    """Recipes that share prepared data agree on it."""
    recipes, sweeps = list(map(load_any_recipe, FILES)), list(map(load_sweep, SWEEPS))
    assert [loaded.settings.sweep for loaded in sweeps] == [path.stem for path in SWEEPS]
    names = [recipe.name for recipe in recipes] + [loaded.settings.sweep for loaded in sweeps]
    assert len(set(names)) == len(names) >= 9
    found: list[DataConfig | TextDataConfig] = [recipe.data for recipe in recipes]
    by_folder: dict[Path, set[str]] = {}
    for data in found + [loaded.rows[0].data for loaded in sweeps]:
        if data.prepared:
            by_folder.setdefault(data.prepared, set()).add(data.model_dump_json())
    assert by_folder
    assert all(len(settings) == 1 for settings in by_folder.values())
