"""Recipe sections, and variant families as fields of them.

A module without a leading underscore in a family's package is a variant, and its file name is its `kind`:
`kind: sliding_window` is `attention/sliding_window.py`, which defines `SlidingWindowAttention` and
`SlidingWindowAttentionConfig`. There is no registry; adding a file adds the variant.
"""

import pkgutil
from collections.abc import Hashable
from functools import cache
from importlib import import_module
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, SchemaValidator, core_schema

_RULES = {
    "missing": "there",
    "extra_forbidden": "left out",
    "literal_error": "{expected}",
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "string_pattern_mismatch": "text that matches {pattern}",
    "string": "text",
    "path": "a path",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model": "a mapping",
    "dataclass": "a mapping",
    "none_required": "null",
    "greater_than_equal": "at least {ge}",
    "greater_than": "above {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "below {lt}",
    "too_short": "a list with at least {min_length} entries",
    "too_long": "a list with at most {max_length} entries",
    "json_invalid": "JSON",
}
"""Rules by the beginning of the types of pydantic's errors."""
_MAX_VALUE = 60


def _refuse_conversions(schema: Any) -> None:  # noqa: ANN401 - a tree of dictionaries and lists
    """Make the numbers and truth values of a schema strict, in place."""
    if isinstance(schema, dict):
        if schema.get("type") in ("int", "float", "bool") and "strict" not in schema:
            schema["strict"] = True
            if schema["type"] == "int":
                whole = dict(schema)
                schema.clear()
                schema.update(core_schema.no_info_before_validator_function(_whole_number, cast(CoreSchema, whole)))
            return
        schema = list(schema.values())
    if isinstance(schema, list | tuple):
        for part in schema:
            _refuse_conversions(part)


def _whole_number(value: object) -> object:
    """Convert a number without a fraction to an integer; other values stay as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Settings(BaseModel):
    """Immutable, validated settings.

    Unknown keys and non-finite numbers are errors, and so are texts and truth values where a number belongs. A number
    without a fraction, such as 1e3, is a whole number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of a section, without conversions between types."""
        schema = handler(source)
        _refuse_conversions(schema)
        return schema


def kinds(package: str) -> list[str]:
    """Return the names of a family's variants in alphabetical order.

    Args:
        package: The family's package, such as "sumpool.core.attention".
    """
    path = import_module(package).__path__
    return sorted(module.name for module in pkgutil.iter_modules(path) if module.name[0] != "_")


def config_class(package: str, kind: str) -> type[Settings]:
    """Return a variant's settings class, such as `SlidingWindowAttentionConfig` of `attention/sliding_window.py`."""
    name = "".join(word.capitalize() for word in kind.split("_")) + _base_config(package).__name__
    config: type[Settings] = getattr(import_module(f"{package}.{kind}"), name)
    return config


def _base_config(package: str) -> type[Settings]:
    """Return the abstract settings class that a family's `_base` module defines."""
    base = import_module(f"{package}._base")
    (config,) = (
        member
        for member in vars(base).values()
        if isinstance(member, type) and issubclass(member, Settings) and member.__module__ == base.__name__
    )
    return config


class OneOf:
    """Annotation of a field that holds one variant of a family: a union discriminated by `kind`.

    Only the module of the variant that a value names is imported, when the value is validated. For the type checker the
    field has the family's abstract settings class; instances of that class pass unchanged.
    """

    def __init__(self, package: str) -> None:
        """Define the union.

        Args:
            package: The family's package, such as "sumpool.core.attention".
        """
        self.package = package

    def __get_pydantic_core_schema__(self, source: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        del handler

        def validate(value: object) -> object:
            if isinstance(value, source):
                return value
            kind = value.get("kind") if isinstance(value, dict) else None
            return union_validator(self.package, kind if isinstance(kind, str) else "").validate_python(value)

        return core_schema.no_info_plain_validator_function(validate)


@cache
def union_validator(package: str, kind: str) -> SchemaValidator:
    """Build the validator of a family's union in which only one variant is more than a name.

    pydantic-core prepends the field's location to the errors of this validator, which begin with `kind`.
    """
    choices: dict[Hashable, CoreSchema] = {name: core_schema.any_schema() for name in kinds(package)}
    if kind in choices:
        choices[kind] = config_class(package, kind).__pydantic_core_schema__
    return SchemaValidator(core_schema.tagged_union_schema(choices, discriminator="kind"))


def broken_rule(detail: ErrorDetails) -> str:
    """Return the rule that a value breaks, without pydantic's words; completes "must be"."""
    rule = next((rule for kind, rule in _RULES.items() if detail["type"].startswith(kind)), "of a known form")
    return rule.format_map(detail.get("ctx", {}))


def first_problem(error: ValidationError) -> str:
    """Describe the first problem of values that are no recipe, such as those of a file, without pydantic's words."""
    first = error.errors()[0]
    path, kind = ".".join(map(str, first["loc"])), first["type"]
    if kind == "value_error":  # a sentence already
        return f"{path}: {first['ctx']['error']}".removeprefix(": ")
    value = "nothing" if kind == "missing" else repr(first["input"])[:_MAX_VALUE]
    return f"{path or 'the content'} must be {broken_rule(first)}, got {value}"
