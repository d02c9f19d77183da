"""Error messages for invalid recipes: pydantic's errors as `<setting> must be <rule>, got <value>`."""

import ast
import inspect
import reprlib
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sumpool.settings import OneOf, Settings, broken_rule, config_class, kinds

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
