"""Error messages for invalid recipes: pydantic's errors as `<setting> must be <rule>, got <value>`."""

import ast
import inspect
import reprlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sumpool.recipe.rules import family, rule, section
from sumpool.settings import Settings, config_class, kinds

_SHORT_REPR = reprlib.Repr()
_SHORT_REPR.maxstring = _SHORT_REPR.maxother = 60
_SHORT_REPR.maxlong, _SHORT_REPR.maxdict, _SHORT_REPR.maxlist, _SHORT_REPR.maxlevel = 30, 3, 4, 2


@dataclass
class _Location:
    """Location of an error in the recipe.

    Attributes:
        path: Path in the recipe's notation: `model.encoder[0].attention`.
        annotation: Type of the value; None for an unknown key.
        metadata: Constraints that the field adds to its type, such as bounds.
        summary: First sentence of the setting's documentation.
        owner: Section that defines the last setting of the path.
        owner_name: Path of that section, or its kind if it is a variant.
    """

    path: str
    annotation: Any
    metadata: Sequence[Any]
    summary: str
    owner: type[Settings]
    owner_name: str


def error_messages(error: ValidationError, schema: type[Settings]) -> list[str]:
    """Return one message per invalid setting."""
    details = [detail for detail in error.errors() if not _is_consequence(detail)]
    return list(dict.fromkeys(_message(detail, schema) for detail in details))


def hint(word: str, known: Sequence[str]) -> str:
    """Return a suggestion such as ` (did you mean steps?)`; empty if no known word is similar."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def format_value(value: object) -> str:
    """Format a value in the recipe's notation, shortened."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else _SHORT_REPR.repr(value)


def _is_consequence(detail: ErrorDetails) -> bool:
    """Return whether pydantic reports a list as too short only because it leaves out invalid entries."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _message(detail: ErrorDetails, schema: type[Settings]) -> str:
    place, value = _locate(detail["loc"], schema), detail["input"]
    whole = f"a {schema.__name__.lower()}"
    allowed = rule(place.annotation, place.metadata)
    match detail["type"]:
        case "extra_forbidden":
            return f"{place.path} is not a setting of {place.owner_name or whole}{_nearest(place, schema)}"
        case "missing":
            return f"{place.path} is missing{place.summary and f' ({place.summary})'}; it must be {allowed}"
        case "union_tag_not_found" | "union_tag_invalid":
            return _kind_message(place, value)
        case "value_error":
            return _validator_message(place, str(detail["ctx"]["error"]))
    quotes = "; put it in quotes" if allowed.startswith("text") and isinstance(value, int | float) else ""
    return f"{place.path or whole} must be {allowed}, got {format_value(value)}{quotes}"


def _validator_message(place: _Location, message: str) -> str:
    """Prefix the message of a section's validator, which begins with a setting or with the rule, by the path."""
    joint = "." if section(place.annotation) and not message.startswith("must ") else " "
    return f"{place.path}{joint}{message}" if place.path else message


def _kind_message(place: _Location, value: dict[str, object]) -> str:
    union = family(place.annotation, place.metadata)
    assert union, "only variant families are discriminated by kind"
    known = kinds(union.package)
    if "kind" not in value:
        return f"{place.path}.kind is missing; it must be one of {', '.join(known)}"
    kind = value["kind"]
    return f"{place.path}.kind must be one of {', '.join(known)}, got {format_value(kind)}{hint(str(kind), known)}"


def _locate(location: Sequence[int | str], schema: type[Settings]) -> _Location:
    """Resolve pydantic's location, which also contains kinds and union members that are not part of the path."""
    place = _Location("", schema, (), "", schema, "")
    inside: type[Settings] | None = schema  # section that defines the next setting
    name = ""  # name of that section
    for step in location:
        if isinstance(step, int):
            place.path += f"[{step}]"
            name = place.path
            entries = get_args(place.annotation)
            place.annotation, place.metadata, place.summary = entries[0] if entries else Any, (), ""
            inside = section(place.annotation)
        elif union := family(place.annotation, place.metadata):
            inside = place.annotation = config_class(union.package, step)
            place.metadata, name = (), step
        elif inside:
            place.owner, place.owner_name = inside, name
            place.path = name = f"{place.path}.{step}".lstrip(".")
            field = inside.model_fields.get(step)
            if field is None:
                place.annotation, place.metadata, place.summary = None, (), ""
                break
            place.annotation, place.metadata = field.annotation, field.metadata
            place.summary = setting_docstring(inside, step).split("\n")[0].rstrip(".")
            inside = section(field.annotation)
        elif get_origin(place.annotation) is dict:
            place.path += f".{step}"
            place.annotation, place.metadata = get_args(place.annotation)[1], ()
    return place


def setting_docstring(owner: type[Settings], name: str) -> str:
    """Return the docstring below a setting, or ""; pydantic would read those of all settings at import."""
    for base in owner.__mro__:
        if not issubclass(base, Settings) or base.__pydantic_generic_metadata__["origin"]:
            continue  # a parametrized generic; its origin, which has the same source, comes next
        docstrings = _setting_docstrings(base)
        if name in docstrings:
            return docstrings[name]
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


def _nearest(place: _Location, schema: type[Settings]) -> str:
    """Suggest a setting of the same section, or a section with a setting of exactly this name."""
    word = place.path.rpartition(".")[2]
    known = list(place.owner.model_fields)
    suggestion = hint(word, known)
    if suggestion:
        return suggestion
    for name, field in schema.model_fields.items():
        other = section(field.annotation)
        if other and word in other.model_fields:
            return f" (did you mean {name}.{word}?)"
    return f"; its settings are {', '.join(known)}"
