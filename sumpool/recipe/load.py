"""Load recipes, change settings by their paths, and dump recipes; all problems of a file are reported at once."""

import ast
import inspect
import re
import reprlib
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sumpool.errors import RecipeError
from sumpool.io.manifest import RECIPE
from sumpool.recipe.files import MAX_CHARACTERS, Inline, packaged_recipes, parse, write
from sumpool.recipe.schema import DEFAULT, BaseRecipe, Recipe
from sumpool.settings import OneOf, Settings, broken_rule, config_class, kinds

Section = TypeVar("Section", bound=Settings)

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\.\d+|\[\d+\])*")

_MAX_LISTED = 20
"""Problems listed one by one; a longer list is usually the result of one mistake."""


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Load a recipe of a task that reads documents.

    Args:
        path: A YAML file, or a run folder with `recipe.yaml`.
        overrides: Settings to change, such as `train.steps=100` or `model.encoder[0].attention.block=128`.

    Raises:
        RecipeError: If the file cannot be read or any setting is invalid; lists all problems.
    """
    recipe = load_any_recipe(path, overrides)
    if not isinstance(recipe, Recipe):
        raise RecipeError(
            f"{path}: task must be {DEFAULT}, or another one that reads documents, for this command, got {recipe.task}"
        )
    return recipe


def is_sweep(tree: Mapping[str, Any]) -> bool:
    """Return whether a tree of settings is that of a sweep, which `rows` tells where the key `sweep` is misspelt."""
    return "sweep" in tree or "rows" in tree


def make_recipe(tree: dict[str, Any], overrides: Sequence[str], path: Path) -> BaseRecipe:
    """Validate a tree of settings from a path as a recipe of its task; the overrides change the tree in place.

    Raises:
        RecipeError: If any setting is invalid; lists all problems.
    """
    problems = override_all(tree, overrides)
    try:
        schema = recipe_schema(tree.get("task", DEFAULT))
    except ValueError as error:
        problems.append(str(error))
        schema, tree = Recipe, {**tree, "task": DEFAULT}
    recipe = validate(schema, tree, problems)
    if problems or not recipe:
        raise RecipeError(list_problems(path, problems))
    return recipe


def override_all(tree: dict[str, Any], assignments: Iterable[str]) -> list[str]:
    """Change settings of a parsed recipe in place; return the messages of the assignments that fail.

    Missing sections are created; the recipe's schema decides whether the setting exists.

    Args:
        tree: The parsed recipe.
        assignments: `train.steps=100`, `model.encoder[0].attention.block=128` or `model.encoder.0.pool=null`; the
            value is YAML, such as `{kind: tied}` or `[1, 2]`.
    """
    problems = []
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not _PATH.fullmatch(path.strip()):
            problems.append(f"--set must look like section.setting=value, got {assignment!r}")
            continue
        try:
            assign(tree, path, parse(text))
        except ValueError as error:
            problems.append(f"--set {path}: {error}")
    return problems


def assign(tree: dict[str, Any], path: str, value: object) -> None:
    """Set the value at a path of a parsed recipe in place; missing sections are created.

    Raises:
        ValueError: If the path cannot be parsed, or leads through a value without entries.
    """
    if not _PATH.fullmatch(path.strip()):
        raise ValueError(f"a path must look like section.setting, got {path!r}")
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)]
    container: Any = tree
    prefix = ""
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if not isinstance(step, int):
            if not isinstance(container, dict):
                raise ValueError(f"{prefix} must be a section to have a setting {step}, got {container!r}")
        elif not isinstance(container, list):
            raise ValueError(f"{prefix} must be a list to have an entry {step}, got {container!r}")
        elif step >= len(container):
            raise ValueError(f"{prefix} must have an entry {step}, got {len(container)} counted from 0")
        if following is None:
            container[step] = value
            break
        if isinstance(container, dict) and container.get(step) is None:
            container[step] = {}
        container = container[step]
        prefix = f"{prefix}[{step}]" if isinstance(step, int) else f"{prefix}.{step}".lstrip(".")
        if isinstance(following, int) and container == {}:
            raise ValueError(f"{prefix} must be written out in the recipe before one entry can change")


def recipe_schema(name: object) -> type[BaseRecipe]:
    """Return the schema of the recipes of a task.

    Raises:
        ValueError: If there is no such task.
    """
    if name == DEFAULT:
        return Recipe  # which needs nothing of a training
    from sumpool.recipe.task import find_task

    return find_task(name).recipe


def validate(schema: type[Section], tree: dict[str, Any], problems: list[str]) -> Section | None:
    """Validate a tree of settings; None if one is invalid, whose message is added to the problems."""
    try:
        return schema.model_validate(tree)
    except ValidationError as error:
        problems += error_messages(error, schema)
        return None


def load_settings(name: str, schema: type[Section], tree: dict[str, Any], overrides: Sequence[str]) -> Section:
    """Validate a tree of settings with overrides, which change it in place; `name` is for the error.

    Raises:
        RecipeError: If any setting is invalid; lists all problems.
    """
    problems = override_all(tree, overrides)
    settings = validate(schema, tree, problems)
    if problems or not settings:
        raise RecipeError(list_problems(name, problems))
    return settings


def list_problems(name: str | Path, problems: Sequence[str]) -> str:
    """Join all problems of a file, or of other settings with a name, into one error message."""
    if len(problems) == 1:
        return f"{name}: {problems[0]}"
    lines = [f"  - {problem}" for problem in problems[:_MAX_LISTED]]
    if len(problems) > _MAX_LISTED:
        lines.append(f"  - and {len(problems) - _MAX_LISTED} more")
    return "\n".join([f"{name}: {len(problems)} problems", *lines])


def read_tree(path: Path) -> dict[str, Any]:
    """Parse a YAML file whose top level is a mapping.

    Raises:
        RecipeError: If the file cannot be read or is not a mapping.
    """
    try:
        tree = parse(read_text(path))
    except ValueError as error:
        raise RecipeError(f"{path} {error}") from error
    if not isinstance(tree, dict):
        raise RecipeError(f"{path} must be a mapping of settings, got {format_value(tree)}")
    return tree


def read_text(path: Path) -> str:
    """Read the text of a recipe file.

    Raises:
        RecipeError: If there is no such file, or it is not UTF-8 text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(4 * MAX_CHARACTERS + 1)
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        names = [neighbour.name for neighbour in path.parent.glob("*.yaml")]
        if not path.suffix:
            names += packaged_recipes()
            raise RecipeError(
                f"{path} must be a recipe file or a name that `sumpool recipes` lists, got neither"
                f"{hint(path.as_posix(), names)}"
            ) from None
        message = f"{path} must be a recipe, but there is no such file{hint(path.name, names)}"
        raise RecipeError(message) from None
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} must be UTF-8 text, got byte {content[error.start]:#04x}") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise RecipeError(f"{path} must be a recipe that can be read, got: {error}") from error


def load_any_recipe(path: Path, overrides: Sequence[str] = ()) -> BaseRecipe:
    """Load a recipe of any task; arguments and errors are those of `load_recipe`."""
    path = path / RECIPE if path.is_dir() else path
    return make_recipe(read_tree(path), overrides, path)


def dump_recipe(recipe: BaseRecipe) -> str:
    """Serialize a recipe with all its settings as YAML that loads to an equal recipe, one line per encoder layer."""
    tree = recipe.model_dump(exclude_none=True)
    if tree["task"] == DEFAULT:
        del tree["task"]
    if recipe.train.teacher is None:
        tree["train"] = {key: value for key, value in tree["train"].items() if not key.startswith("distillation_")}
    return write(_to_yaml(tree, inline=False))


def _to_yaml(value: object, *, inline: bool) -> object:
    """Convert a dumped recipe to YAML's types; entries of a list take one line each."""
    match value:
        case dict():
            entries = {key: _to_yaml(inner, inline=inline) for key, inner in value.items()}
            return Inline(entries) if inline else entries
        case tuple() | list() if any(isinstance(inner, dict) for inner in value):
            return [_to_yaml(inner, inline=True) for inner in value]
        case tuple() | list():
            return tuple(_to_yaml(inner, inline=True) for inner in value)
        case Path():
            return str(value)
    return value


_SHORT_REPR = reprlib.Repr()
_SHORT_REPR.maxstring = _SHORT_REPR.maxother = 60
_SHORT_REPR.maxlong, _SHORT_REPR.maxdict, _SHORT_REPR.maxlist, _SHORT_REPR.maxlevel = 30, 3, 4, 2


def error_messages(error: ValidationError, schema: type[Settings]) -> list[str]:
    """Return one message per invalid setting."""
    messages: dict[tuple[str, str], list[str]] = {}  # by beginning and end, the rules of a setting's alternatives
    for detail in error.errors():
        if detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]:
            continue  # the list is too short only without its invalid entries
        beginning, rule, end = _message(detail, schema)
        messages.setdefault((beginning, end), []).append(rule)
    return [beginning + " or ".join(dict.fromkeys(rules)) + end for (beginning, end), rules in messages.items()]


def _message(detail: ErrorDetails, schema: type[Settings]) -> tuple[str, str, str]:
    """Return beginning, rule and end of a message."""
    path, owner, owner_name, union = _follow(detail["loc"], schema)
    value, whole = detail["input"], f"a {schema.__name__.lower()}"
    match detail["type"]:
        case "extra_forbidden":
            return path, f" is not a setting of {owner_name or whole}", _nearest(path, owner, schema)
        case "missing":
            about = setting_docstring(owner, path.rpartition(".")[2]).split("\n")[0].rstrip(".")
            return path, " is missing", f" ({about})" if about else ""
        case "union_tag_not_found" | "union_tag_invalid" if union:
            known = kinds(union.family)
            one_of = f"one of {', '.join(known)}"
            if "kind" not in value:
                return f"{path}.kind is missing; it must be ", one_of, ""
            return (
                f"{path}.kind must be ",
                one_of,
                f", got {format_value(value['kind'])}{hint(str(value['kind']), known)}",
            )
        case "value_error":  # a sentence that begins with the rule, or with a setting of the section
            sentence = str(detail["ctx"]["error"])
            return path and path + (" " if sentence.startswith("must ") else "."), sentence, ""
    rule, alternative = broken_rule(detail), str(detail["loc"][-1:])
    number = "a whole number" if "-int" in alternative else "a number" if "-float" in alternative else rule
    rule = rule if number in rule else f"{number} ({rule})"
    quotes = "; put it in quotes" if rule == "text" and isinstance(value, int | float) else ""
    return f"{path or whole} must be ", rule, f", got {format_value(value)}{quotes}"


def hint(word: str, known: Sequence[str]) -> str:
    """Return a suggestion such as ` (did you mean steps?)`; empty if no known word is similar."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def format_value(value: object) -> str:
    """Format a value in the recipe's notation, shortened."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else _SHORT_REPR.repr(value)


def family(annotation: object) -> OneOf | None:
    """Return the variant family of a type, of its union members or of its entries."""
    marks = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, OneOf)]
    return next(iter(marks), None) or next(filter(None, map(family, get_args(annotation))), None)


def section(annotation: object) -> type[Settings] | None:
    """Return the settings class of a type, of its union members or of its entries."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    return next(filter(None, map(section, get_args(annotation))), None)


def _follow(location: Sequence[int | str], schema: type[Settings]) -> tuple[str, type[Settings], str, OneOf | None]:
    """Resolve pydantic's location, which contains kinds and members of unions too.

    Returns:
        The path in the recipe's notation, the section that has its last setting, the name of that section, which is
        the kind of a variant, and the family of variants that the value belongs to.
    """
    path = name = owner_name = ""
    owner = schema
    inside: type[Settings] | None = schema
    annotation: Any = schema
    union: OneOf | None = None
    for step in location:
        if isinstance(step, int):
            path = name = f"{path}[{step}]"
        elif union:
            inside, annotation, union, name = config_class(union.family, step), None, None, step
        elif inside:
            owner, owner_name = inside, name
            path = name = f"{path}.{step}".lstrip(".")
            field = inside.model_fields.get(step)
            annotation = field and field.rebuild_annotation()
            inside, union = section(annotation), family(annotation)
            inside = None if union else inside
        elif get_origin(annotation) is dict:
            path, annotation = f"{path}.{step}", None
    return path, owner, owner_name, union


def setting_docstring(owner: type[Settings], name: str) -> str:
    """Return the docstring below a setting, or below that which it redefines, or "".

    Pydantic would read those of all settings at import.
    """
    for base in owner.__mro__:
        if not issubclass(base, Settings) or base.__pydantic_generic_metadata__["origin"]:
            continue  # a parametrized generic; its origin, which has the same source, comes next
        docstring = _setting_docstrings(base).get(name)
        if docstring:
            return docstring
    return ""


@cache
def _setting_docstrings(section_class: type[Settings]) -> dict[str, str]:
    """Return the docstrings below the settings that a class itself defines, "" for those without one."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(section_class))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        ast.unparse(setting.target): ast.literal_eval(below.value) if isinstance(below, ast.Expr) else ""
        for setting, below in pairwise(tree.body)
        if isinstance(setting, ast.AnnAssign)
    }


def _nearest(path: str, owner: type[Settings], schema: type[Settings]) -> str:
    """Suggest a setting of the same section, or a section with a setting of exactly this name."""
    word, known = path.rpartition(".")[2], list(owner.model_fields)
    for name, field in schema.model_fields.items():
        other = section(field.annotation)
        if not hint(word, known) and other and word in other.model_fields:
            return f" (did you mean {name}.{word}?)"
    return hint(word, known) or f"; its settings are {', '.join(known)}"
