"""Variant families: the modules of a package, discriminated by `kind`.

A module without a leading underscore in a family's package is a variant, and its file name is its `kind`:
`kind: sliding_window` is `attention/sliding_window.py`, which defines `SlidingWindowAttention` and
`SlidingWindowAttentionConfig`. There is no registry; adding a file adds the variant.
"""

import pkgutil
from importlib import import_module
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from sumpool.settings import Settings


def kinds(package: str) -> list[str]:
    """Name the variants of a family, in alphabetical order.

    Args:
        package: The family's package, such as "sumpool.core.attention".
    """
    path = import_module(package).__path__
    return sorted(module.name for module in pkgutil.iter_modules(path) if module.name[0] != "_")


def config_class(package: str, kind: str) -> type[Settings]:
    """Return the settings class of a variant: `attention/sliding_window.py` holds `SlidingWindowAttentionConfig`."""
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
    """Annotates a field with "one variant of this family", as a union discriminated by `kind`.

    For the type checker the field has the family's abstract config; pydantic sees the union of all variants.
    """

    def __init__(self, package: str) -> None:
        self.package = package

    def __get_pydantic_core_schema__(self, source: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        del source
        choices = {kind: handler.generate_schema(config_class(self.package, kind)) for kind in kinds(self.package)}
        return core_schema.tagged_union_schema(choices=choices, discriminator="kind")
