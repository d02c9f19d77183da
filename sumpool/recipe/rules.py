"""Descriptions of the values that a setting accepts, from its type: "a whole number of at least 1"."""

import types
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic.fields import FieldInfo

from sumpool.settings import OneOf, Settings, kinds

_WORDS: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    type(None): "null",
}


def rule(annotation: object, metadata: Sequence[object] = ()) -> str:
    """Describe the values that a type with its constraints accepts; completes "must be"."""
    return " ".join([_type_rule(annotation, metadata), *_bounds(metadata)])


def family(annotation: object, metadata: Sequence[object] = ()) -> OneOf | None:
    """Return the variant family of a type, of its union members or of its entries."""
    for mark in (*metadata, *getattr(annotation, "__metadata__", ())):
        if isinstance(mark, OneOf):
            return mark
    for inner in get_args(annotation):
        union = family(inner)
        if union:
            return union
    return None


def section(annotation: object) -> type[Settings] | None:
    """Return the settings class of a type, of its union members or of its entries."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    return next((settings for inner in get_args(annotation) if (settings := section(inner))), None)


def _type_rule(annotation: object, metadata: Sequence[object]) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        marks = [part for mark in inner[1:] for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]
        return rule(inner[0], marks)
    if origin is tuple:
        return f"a list of {_plural(annotation, metadata)}"
    if origin in (Union, types.UnionType):
        return " or ".join(_type_rule(member, metadata) for member in inner)
    if origin is Literal:
        return str(inner[0]) if len(inner) == 1 else f"one of {', '.join(map(str, sorted(inner)))}"
    if origin is dict:
        return f"a section of names and {'numbers' if _is_number(inner[1]) else 'settings'}"
    union = family(annotation, metadata)
    if union:
        return f"a section with a kind, one of {', '.join(kinds(union.package))}"
    if section(annotation):
        return "a section of settings"
    return _WORDS.get(annotation, "a value")


def _is_number(annotation: object) -> bool:
    return annotation is float or (get_origin(annotation) is Annotated and get_args(annotation)[0] is float)


def _plural(annotation: object, metadata: Sequence[object]) -> str:
    inner = get_args(annotation)
    if inner[-1] is not Ellipsis:
        return f"{len(inner)} values, each {_type_rule(inner[0], ())}"
    if section(inner[0]) or family(inner[0], metadata):
        return "sections"
    return f"values, each {_type_rule(inner[0], ())}"


def _bounds(metadata: Sequence[object]) -> list[str]:
    words = []
    for mark in metadata:
        match mark:
            case Ge(ge=bound):
                words.append(f"of at least {bound}")
            case Gt(gt=bound):
                words.append(f"above {bound}")
            case Le(le=bound):
                words.append(f"and at most {bound}" if words else f"of at most {bound}")
            case Lt(lt=bound):
                words.append(f"and below {bound}" if words else f"below {bound}")
            case MinLen(min_length=bound):
                words.append(f"with at least {bound} entr{'y' if bound == 1 else 'ies'}")
            case MaxLen(max_length=bound):
                words.append(f"{'and' if words else 'with'} at most {bound} entries")
            case _ if pattern := getattr(mark, "pattern", None):
                words.append(f"that matches {pattern}")
    return words
