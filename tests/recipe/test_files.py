from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.recipe import files
from sumpool.recipe.files import MAX_DEPTH, Inline, find_recipe, packaged_recipes, parse, recipes_folder, write
from sumpool.recipe.load import load_recipe

RECIPES = Path(__file__).parents[2] / "recipes"


def test_a_wheel_uses_the_recipes_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recipes_folder() == RECIPES  # of a checkout
    monkeypatch.setattr(files, "files", lambda package: tmp_path / package)
    folder = tmp_path / "sumpool/recipes"
    folder.mkdir(parents=True)
    with pytest.raises(RecipeError, match="recipes must contain the recipes of the package, got none"):
        recipes_folder()
    (folder / "quickstart.yaml").write_text("# First line.\n# Second line.\nname: quickstart\n")
    assert packaged_recipes() == {"quickstart": "First line"}
    assert find_recipe(Path("quickstart")) == folder / "quickstart.yaml"


def test_every_recipe_is_listed_with_a_description() -> None:
    recipes = packaged_recipes()
    assert {f"{name}.yaml" for name in recipes} == {str(path.relative_to(RECIPES)) for path in RECIPES.rglob("*.yaml")}
    assert [*recipes][:4] == ["default", "language-model", "quickstart", "rfc"]
    for name, description in recipes.items():
        assert 10 <= len(description) <= 100, name
        assert (RECIPES / f"{name}.yaml").read_text().startswith("# ")


def test_a_name_is_a_packaged_recipe_unless_a_file_or_run_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_recipe(find_recipe(Path("quickstart"))).name == "quickstart"
    assert find_recipe(Path("papers/arxiv/power")) == RECIPES / "papers/arxiv/power.yaml"
    Path("rfc").mkdir()
    assert find_recipe(Path("rfc")) == RECIPES / "rfc.yaml"  # an arbitrary folder is no run
    Path("rfc/recipe.yaml").touch()
    Path("quickstart").touch()
    for path in (Path("rfc"), Path("quickstart"), Path("rfc.yaml"), Path("runs/rfc"), Path("a\0b")):
        assert find_recipe(path) == path
    assert find_recipe(RECIPES / "rfc") == RECIPES / "rfc"


def test_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    for text, value in [
        ("1e-4", 1e-4),
        ("1_000", 1000),
        ("-3", -3),
        (".5", 0.5),
        ("2.", 2.0),
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("010", "010"),
        ("2024-10-10", "2024-10-10"),
        ("true", True),
        ("~", None),
        ("", None),
        ("'1'", "1"),
    ]:
        parsed = parse(text)
        assert parsed == value
        assert type(parsed) is type(value)
        assert parse(write({"key": value})) == {"key": value}


def test_aliases_and_merges_are_copied() -> None:
    assert parse("a: &a {b: 1}\nc: {<<: *a, d: 2}") == {"a": {"b": 1}, "c": {"b": 1, "d": 2}}
    parsed = parse("- &a {b: 1}\n- *a")
    assert isinstance(parsed, list)
    parsed[0]["b"] = 2
    assert parsed[1] == {"b": 1}


def test_anything_but_plain_data_is_refused() -> None:
    for text, message in [
        ("a: 1\nb: 2\na: 3", "line 3: 'a' occurs twice"),
        ("? [1, 2]\n: 3", "line 1: a key must be a word"),
        ("a: !!python/object/apply:os.system [ls]", r"line 1: a tag \(!...\) is not allowed"),
        ("a: !!binary aGk=", "a tag"),
        ("a: &a [*a]", r"the alias \*a contains itself"),
        ("a: *b", "found undefined alias 'b'"),
        ("[" * (MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep"),
        ("[" * 100_000, f"nested more than {MAX_DEPTH} deep"),
        ("a: 1\n---\nb: 1", "but found another document"),
        ("a: \x00", "special characters are not allowed"),
        (f"a: {'9' * 5000}", "Exceeds the limit"),
    ]:
        with pytest.raises(ValueError, match=f"must be YAML, got .*{message}"):
            parse(text)


def test_long_text_and_an_alias_bomb_are_refused_before_they_expand() -> None:
    with pytest.raises(ValueError, match="must be at most 200000 characters long, got 200001"):
        parse(" " * 200_001)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 10)]
    with pytest.raises(ValueError, match="line 5: there are more than 20000 values"):
        parse("\n".join(lines))


def test_inline_mappings_and_tuples_take_one_line() -> None:
    assert write({"a": [Inline(b=1, c=Inline(d=2))], "e": (1, 2)}) == "a:\n- {b: 1, c: {d: 2}}\ne: [1, 2]\n"
