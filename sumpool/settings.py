"""Recipe sections, and variant families as fields of them.

A large family is a package. A module of it without a leading underscore is a variant, and its file name is its `kind`:
`kind: sliding_window` is `attention/sliding_window.py`, which defines `SlidingWindowAttention` and
`SlidingWindowAttentionConfig`. A small family is one module with all its variants, whose settings have the `kind`.
The class of a variant is the one beside its settings, whose name it has without "Config". There is no registry; adding
a file or a class adds the variant.
"""

import pkgutil
from collections.abc import Hashable
from functools import cache
from importlib import import_module
from types import ModuleType
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


class VariantSettings(Settings):
    """Settings of one variant of a family."""

    kind: str

    @property
    def variant_class(self) -> type[Any]:
        """The class that is built from the settings: it is beside them, with their name without "Config"."""
        built: type[Any] = getattr(import_module(type(self).__module__), type(self).__name__[: -len("Config")])
        return built


def kinds(family: str) -> list[str]:
    """Return the names of a family's variants in alphabetical order.

    Args:
        family: Its package or module, such as "sumpool.core.attention".
    """
    module = import_module(family)
    if hasattr(module, "__path__"):
        return sorted(variant.name for variant in pkgutil.iter_modules(module.__path__) if variant.name[0] != "_")
    return sorted(_config_classes(module))


def config_class(family: str, kind: str) -> type[Settings]:
    """Return the settings class of a variant."""
    module = import_module(family)
    return _config_classes(import_module(f"{family}.{kind}") if hasattr(module, "__path__") else module)[kind]


def _config_classes(module: ModuleType) -> dict[str, type[Settings]]:
    """Return the settings classes of variants that a module defines, by their kind."""
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Settings)]
    fields = [(config.model_fields.get("kind"), config) for config in classes if config.__module__ == module.__name__]
    return {field.default: config for field, config in fields if field and not field.is_required()}


class OneOf:
    """Annotation of a field that holds one variant of a family: a union discriminated by `kind`.

    Of a package only the module of the variant that a value names is imported, when the value is validated. For the
    type checker the field has the family's abstract settings class; instances of that class pass unchanged.
    """

    def __init__(self, family: str) -> None:
        """Define the union.

        Args:
            family: Package or module of the family, such as "sumpool.core.attention".
        """
        self.family = family

    def __get_pydantic_core_schema__(self, source: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        del handler

        def validate(value: object) -> object:
            if isinstance(value, source):
                return value
            kind = value.get("kind") if isinstance(value, dict) else None
            return union_validator(self.family, kind if isinstance(kind, str) else "").validate_python(value)

        return core_schema.no_info_plain_validator_function(validate)


@cache
def union_validator(family: str, kind: str) -> SchemaValidator:
    """Build the validator of a family's union in which only one variant is more than a name.

    pydantic-core prepends the field's location to the errors of this validator, which begin with `kind`.
    """
    choices: dict[Hashable, CoreSchema] = {name: core_schema.any_schema() for name in kinds(family)}
    if kind in choices:
        choices[kind] = config_class(family, kind).__pydantic_core_schema__
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
