"""From pydantic's errors to sentences that name the setting, the rule and the value."""

import ast
import inspect
import reprlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sumpool.recipe.rules import family, rule, section
from sumpool.settings import Settings
from sumpool.variants import config_class, kinds

RENAMED = {
    "doubt": "ood_threshold",
    "hold": "reselect_every",
    "plan_length": "predict_length",
    "sure": "keep_threshold",
    "twins": "baselines",
    "works": "workloads",
}
"""Current names of settings by their names before version 0.2."""

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 60
_SHOWN.maxlong, _SHOWN.maxdict, _SHOWN.maxlist, _SHOWN.maxlevel = 30, 3, 4, 2


@dataclass
class _Place:
    """Where in the recipe an error lies.

    Attributes:
        path: As the user writes it: `model.encoder[0].attention`.
        annotation: Type of what stands there, None for a key that no section knows.
        metadata: What the field adds to its type, such as bounds.
        about: First sentence of the setting's documentation.
        owner: The section that the last word of the path was looked up in.
        owner_name: That section's path, or its kind if it is a variant.
    """

    path: str
    annotation: Any
    metadata: Sequence[Any]
    about: str
    owner: type[Settings]
    owner_name: str


def sentences(error: ValidationError, schema: type[Settings]) -> list[str]:
    """Say everything that is wrong, one sentence per setting."""
    details = [detail for detail in error.errors() if not _echoes(detail)]
    return list(dict.fromkeys(_sentence(detail, schema) for detail in details))


def hint(word: str, known: Sequence[str]) -> str:
    """Suggest what was meant: ` (did you mean steps?)`, or nothing if nothing comes close."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def show(value: object) -> str:
    """Write a value as a recipe would, shortened."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else _SHOWN.repr(value)


def _echoes(detail: ErrorDetails) -> bool:
    """Whether pydantic calls a list too short only because it does not count the entries with problems."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _sentence(detail: ErrorDetails, schema: type[Settings]) -> str:
    place, value = _locate(detail["loc"], schema), detail["input"]
    whole = f"a {schema.__name__.lower()}"
    allowed = rule(place.annotation, place.metadata)
    match detail["type"]:
        case "extra_forbidden":
            return f"{place.path} is not a setting of {place.owner_name or whole}{_nearest(place, schema)}"
        case "missing":
            return f"{place.path} is missing{place.about and f' ({place.about})'}; it must be {allowed}"
        case "union_tag_not_found" | "union_tag_invalid":
            return _kind_sentence(place, value)
        case "value_error":
            return _own_sentence(place, str(detail["ctx"]["error"]))
    quotes = "; put it in quotes" if allowed.startswith("text") and isinstance(value, int | float) else ""
    return f"{place.path or whole} must be {allowed}, got {show(value)}{quotes}"


def _own_sentence(place: _Place, message: str) -> str:
    """Put the path before a section's own message, which begins with a setting of it or with the rule."""
    joint = "." if section(place.annotation) and not message.startswith("must ") else " "
    return f"{place.path}{joint}{message}" if place.path else message


def _kind_sentence(place: _Place, value: dict[str, object]) -> str:
    found = family(place.annotation, place.metadata)
    assert found, "only a family is told apart by its kind"
    known = kinds(found.package)
    if "kind" not in value:
        return f"{place.path}.kind is missing; it must be one of {', '.join(known)}"
    kind = value["kind"]
    return f"{place.path}.kind must be one of {', '.join(known)}, got {show(kind)}{hint(str(kind), known)}"


def _locate(location: Sequence[int | str], schema: type[Settings]) -> _Place:
    """Follow pydantic's location, which also holds kinds and tried alternatives that are no part of a path."""
    place = _Place("", schema, (), "", schema, "")
    inside: type[Settings] | None = schema  # the section that the next word names a setting of
    name = ""  # what that section is called
    for step in location:
        if isinstance(step, int):
            place.path += f"[{step}]"
            name = place.path
            entries = get_args(place.annotation)
            place.annotation, place.metadata, place.about = entries[0] if entries else Any, (), ""
            inside = section(place.annotation)
        elif found := family(place.annotation, place.metadata):
            inside = place.annotation = config_class(found.package, step)
            place.metadata, name = (), step
        elif inside:
            place.owner, place.owner_name = inside, name
            place.path = name = f"{place.path}.{step}".lstrip(".")
            field = inside.model_fields.get(step)
            if field is None:
                place.annotation, place.metadata, place.about = None, (), ""
                break
            place.annotation, place.metadata = field.annotation, field.metadata
            place.about = _about(inside, step).split("\n")[0].rstrip(".")
            inside = section(field.annotation)
        elif get_origin(place.annotation) is dict:
            place.path += f".{step}"
            place.annotation, place.metadata = get_args(place.annotation)[1], ()
    return place


def _about(owner: type[Settings], name: str) -> str:
    """Find the docstring below a setting; pydantic would look for all of them whenever Python starts."""
    for base in owner.__mro__:
        if not issubclass(base, Settings) or base.__pydantic_generic_metadata__["origin"]:
            continue  # one with parameters has its source where the one without has it, which comes next
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(tree, ast.ClassDef)
        for setting, below in pairwise(tree.body):
            if isinstance(setting, ast.AnnAssign) and ast.unparse(setting.target) == name:
                return ast.literal_eval(below.value) if isinstance(below, ast.Expr) else ""
    return ""


def _nearest(place: _Place, schema: type[Settings]) -> str:
    """Suggest a setting of the same section, or the section that has a setting of exactly this name."""
    word = place.path.rpartition(".")[2]
    known = list(place.owner.model_fields)
    if RENAMED.get(word) in known:
        return f"; it was renamed to {RENAMED[word]}"
    suggestion = hint(word, known)
    if suggestion:
        return suggestion
    for name, field in schema.model_fields.items():
        elsewhere = section(field.annotation)
        if elsewhere and word in elsewhere.model_fields:
            return f" (did you mean {name}.{word}?)"
    return f"; its settings are {', '.join(known)}"
