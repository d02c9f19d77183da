"""Every variant has a recipe, and every recipe and sweep can be used."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from sumpool.data.config import DataConfig
from sumpool.data.text_config import TextDataConfig
from sumpool.recipe.language_model import load_any_recipe
from sumpool.recipe.load import dump_recipe, read_tree
from sumpool.recipe.sweep import load_sweep
from sumpool.settings import kinds

RECIPES = Path(__file__).parents[1] / "recipes"
SWEEPS = sorted(path for path in RECIPES.rglob("*.yaml") if "sweep" in read_tree(path))
FILES = sorted({*RECIPES.rglob("*.yaml")} - {*SWEEPS})


def families() -> list[str]:
    """Packages of the core that hold variants, by their names."""
    core = import_module("sumpool.core")
    packages = [module.name for module in iter_modules(core.__path__) if module.ispkg]
    return [name for name in packages if (Path(core.__path__[0]) / name / "_base.py").is_file()]


def test_every_variant_has_a_recipe_and_every_such_recipe_a_variant() -> None:
    expected = {f"{family}/{kind}.yaml" for family in families() for kind in kinds(f"sumpool.core.{family}")}
    found = {str(path.relative_to(RECIPES / "variants")) for path in (RECIPES / "variants").rglob("*.yaml")}
    assert found == expected
    assert len(found) >= 7


def test_the_documentation_has_a_row_for_every_variant() -> None:
    rows = (RECIPES.parent / "docs/variants.md").read_text().splitlines()
    for family in families():
        for kind in kinds(f"sumpool.core.{family}"):
            assert any(row.startswith(f"| `{kind}` |") for row in rows), f"{family}/{kind}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(RECIPES)))
def test_recipe_loads_and_is_dumped_to_an_equal_one(path: Path, tmp_path: Path) -> None:
    recipe = load_any_recipe(path)
    dumped = tmp_path / "recipe.yaml"
    dumped.write_text(dump_recipe(recipe))
    assert load_any_recipe(dumped) == recipe
    if path.is_relative_to(RECIPES / "variants"):
        assert f"kind: {path.stem}" in path.read_text()
        assert recipe.name == f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: str(path.relative_to(RECIPES)))
def test_sweep_loads_and_is_called_as_its_file(path: Path) -> None:
    assert load_sweep(path).settings.sweep == path.stem


def test_names_are_unique() -> None:
    names = [load_any_recipe(path).name for path in FILES] + [load_sweep(path).settings.sweep for path in SWEEPS]
    assert len(set(names)) == len(names) >= 9


def test_recipes_that_share_prepared_data_agree_on_it() -> None:
    by_folder: dict[Path, set[str]] = {}
    found: list[DataConfig | TextDataConfig] = [load_any_recipe(path).data for path in FILES]
    for data in found + [load_sweep(path).rows[0].data for path in SWEEPS]:
        if data.prepared:
            by_folder.setdefault(data.prepared, set()).add(data.model_dump_json())
    assert by_folder
    assert all(len(settings) == 1 for settings in by_folder.values())
