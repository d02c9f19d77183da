from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.recipe import packaged
from sumpool.recipe.load import load_recipe
from sumpool.recipe.packaged import find_recipe, packaged_recipes, recipes_folder

RECIPES = Path(__file__).parents[2] / "recipes"


def test_a_checkout_uses_its_own_recipes() -> None:
    assert recipes_folder() == RECIPES


def test_a_wheel_uses_the_recipes_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "files", lambda package: tmp_path / package)
    folder = tmp_path / "sumpool/recipes"
    folder.mkdir(parents=True)
    with pytest.raises(RecipeError, match="recipes must contain the recipes of the package, got none"):
        recipes_folder()
    (folder / "quickstart.yaml").write_text("# First line.\n# Second line.\nname: quickstart\n")
    assert packaged_recipes() == [("quickstart", "First line")]
    assert find_recipe(Path("quickstart")) == folder / "quickstart.yaml"


def test_every_recipe_is_listed_with_a_description() -> None:
    recipes = packaged_recipes()
    assert {f"{recipe.name}.yaml" for recipe in recipes} == {
        str(path.relative_to(RECIPES)) for path in RECIPES.rglob("*.yaml")
    }
    assert [recipe.name for recipe in recipes[:4]] == ["default", "language-model", "quickstart", "rfc"]
    for recipe in recipes:
        assert 10 <= len(recipe.description) <= 100, recipe
        assert (RECIPES / f"{recipe.name}.yaml").read_text().startswith("# ")


def test_a_name_is_a_packaged_recipe_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_recipe(find_recipe(Path("quickstart"))).name == "quickstart"
    assert find_recipe(Path("papers/arxiv/power")) == RECIPES / "papers/arxiv/power.yaml"


def test_files_and_runs_take_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rfc").mkdir()
    assert find_recipe(Path("rfc")) == RECIPES / "rfc.yaml"  # an arbitrary folder is no run
    Path("rfc/recipe.yaml").touch()
    Path("quickstart").touch()
    for path in (Path("rfc"), Path("quickstart"), Path("rfc.yaml"), Path("runs/rfc"), Path("a\0b")):
        assert find_recipe(path) == path
    assert find_recipe(RECIPES / "rfc") == RECIPES / "rfc"
