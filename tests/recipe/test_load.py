import random
import re
from pathlib import Path
from typing import Any

import pytest

from sumpool.errors import RecipeError
from sumpool.recipe.load import dump_recipe, load_recipe, override_all
from sumpool.settings import kinds


def problems_of(text: str, folder: Path, *overrides: str) -> str:
    path = folder / "bad.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, overrides)
    return str(caught.value)


def test_recipe_loads_with_its_types(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe)
    assert recipe.train.learning_rate == 0.001
    assert [layer.attention.kind for layer in recipe.model.encoder] == ["blockwise", "blockwise"]
    tiny_recipe.rename(tiny_recipe.with_name("recipe.yaml"))
    assert load_recipe(tiny_recipe.parent) == recipe


def test_dumped_recipe_loads_to_an_equal_recipe(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe, ["name='1e4'", "train.learning_rate=0.00001", "bench={on: .5}"])
    dumped = dump_recipe(recipe)
    tiny_recipe.write_text(dumped)
    assert load_recipe(tiny_recipe) == recipe
    layers = [line for line in dumped.splitlines() if line.lstrip().startswith("- {attention:")]
    assert len(layers) == 2


def test_all_problems_are_reported_at_once(tiny_recipe: Path) -> None:
    text = (
        tiny_recipe.read_text()
        .replace("kind: blockwise", "kind: blockwize", 1)
        .replace("steps: 4", "stpes: 4, label_smothing: 0.1")
    )
    assert problems_of(text, tiny_recipe.parent).splitlines()[1:] == [
        f"  - model.encoder[0].attention.kind must be one of {', '.join(kinds('sumpool.core.attention'))}, "
        "got 'blockwize' (did you mean blockwise?)",
        "  - train.stpes is not a setting of train (did you mean steps?)",
        "  - train.label_smothing is not a setting of train (did you mean label_smoothing?)",
    ]


def test_one_problem_takes_one_line_and_many_are_counted(tiny_recipe: Path) -> None:
    message = problems_of(tiny_recipe.read_text(), tiny_recipe.parent, "train.keep=1")
    assert message == f"{tiny_recipe.parent / 'bad.yaml'}: train.keep must be at least 2, got 1"
    for count, end in ((20, "recipe; its settings"), (30, "  - and 10 more")):
        text = tiny_recipe.read_text() + "".join(f"junk{number}: 1\n" for number in range(count))
        first, *_, last = problems_of(text, tiny_recipe.parent).splitlines()
        assert first.endswith(f": {count} problems")
        assert end in last


def test_missing_and_broken_files_are_refused(tiny_recipe: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"no such file \(did you mean tiny.yaml\?\)"):
        load_recipe(tiny_recipe.with_name("tiy.yaml"))
    for content, message in [
        (b"- 1", r"must be a mapping of settings, got \[1\]"),
        (b"\xff", "must be UTF-8 text, got byte 0xff"),
        (b"a: {", "must be YAML, got line 1"),
        (b"#" * 1_000_000, "must be at most 200000 characters long"),
    ]:
        path = tmp_path / "broken.yaml"
        path.write_bytes(content)
        with pytest.raises(RecipeError, match=message):
            load_recipe(path)
    with pytest.raises(RecipeError, match="must be a recipe that can be read, got: embedded null"):
        load_recipe(Path(f"{tmp_path}/\0"))
    (tmp_path / "recipe.yaml").mkdir()
    with pytest.raises(RecipeError, match=r"must be a recipe that can be read, got: .*directory"):
        load_recipe(tmp_path)


FRAGMENTS = [
    *["null", "no", "-1", "0", "1e400", ".nan", "12:30", "2024-10-10", "0x1f", "9" * 5000, "kind", "kind: vanilla"],
    *["[]", "{}", "[[]]", "'x'", "*a", "&a", "<<: *a", "? [1]", ": ", "- ", "{", "}", "]", "'", '"', "|", ">", "#"],
    *["!!python/name:os.system", "!!binary aGk=", "%YAML 9.9", "---", "...", "\t", "\0", "\u2028", "\n  "],
    "{a: {a: {a: {a: {a: 1}}}}}",
]


def mutate(text: str, source: random.Random) -> str:
    """Damage a recipe: cut, repeat or replace a few pieces, or put YAML's traps in."""
    for _ in range(source.randint(1, 3)):
        tokens = re.split(r"(\W)", text)
        place = source.randrange(len(tokens))
        choice = source.random()
        if choice < 0.5:
            tokens[place] = source.choice(FRAGMENTS)
        elif choice < 0.7:
            del tokens[place : place + source.randint(1, 6)]
        elif choice < 0.9:
            tokens.insert(place, source.choice(tokens))
        else:
            tokens[place] += chr(source.randrange(1, 0x3000))
        text = "".join(tokens)
    return text


def is_refused(recipe: Path, *overrides: str) -> bool:
    """Whether the recipe is refused with a sentence that names the file; any other error ends the test."""
    try:
        load_recipe(recipe, overrides)
    except RecipeError as error:
        return str(error).startswith(str(recipe)) or pytest.fail(f"no file in: {error}")
    return False


def test_damaged_overrides_and_recipes_load_or_are_refused_and_nothing_else(tiny_recipe: Path) -> None:
    source, count = random.Random(7), 60  # figure C1 of `tests/torture` damages thousands
    assignments = ["train.steps=3", "model.encoder[0].attention.block=64", "model.encoder.1.pool={kind: halving}"]
    refused = sum(is_refused(tiny_recipe, mutate(source.choice(assignments), source)) for _ in range(count))
    assert count // 2 < refused < count
    original, refused = tiny_recipe.read_text(), 0
    for _ in range(count):
        tiny_recipe.write_text(mutate(original, source), encoding="utf-8")
        refused += is_refused(tiny_recipe)
    assert count // 2 < refused < count


def test_one_value_changes() -> None:
    changes: list[tuple[str, dict[str, Any]]] = [
        ("a.b=2", {"a": {"b": 2}}),
        ("n.m.o=1e-3", {"n": {"m": {"o": 1e-3}}}),
        ("l[1].x=null", {"l": [{"x": 1}, {"x": None}]}),
        ("l.0.x={kind: tied}", {"l": [{"x": {"kind": "tied"}}, {"x": 2}]}),
        ("l[0]=y", {"l": ["y", {"x": 2}]}),
        ("a.b=c=d", {"a": {"b": "c=d"}}),
    ]
    for assignment, changed in changes:
        tree: dict[str, Any] = {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}
        expected = {**tree, **changed}
        assert override_all(tree, [assignment]) == []
        assert tree == expected


def test_invalid_paths_are_refused() -> None:
    for assignment, message in [
        ("train.steps", "--set must look like section.setting=value, got 'train.steps'"),
        ("=3", "--set must look like section.setting=value, got '=3'"),
        ("a..b=3", "--set must look like section.setting=value, got 'a..b=3'"),
        ("a.b=[", "--set a.b: must be YAML, got line 1"),
        ("a.b.c=3", "--set a.b.c: a.b must be a section to have a setting c, got 1"),
        ("a[0]=3", "--set a[0]: a must be a list to have an entry 0, got {'b': 1}"),
        ("l[2].x=3", "--set l[2].x: l must have an entry 2, got 2 counted from 0"),
        ("m[0]=3", "--set m[0]: m must be written out in the recipe before one entry can change"),
    ]:
        (problem,) = override_all({"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}, [assignment])
        assert problem.startswith(message)
