"""Families of variants: the modules of a folder, told apart by `kind`.

A module without a leading underscore in a family's folder is a variant, and its name is its name everywhere:
`kind: sliding_window` is `sliding_window.py`, which holds `SlidingWindowConfig`. Nothing registers itself and no
list is edited; adding a file adds the variant.
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
    """Find the settings class of one variant: `attention/sliding_window.py` holds `SlidingWindowConfig`."""
    name = "".join(word.capitalize() for word in kind.split("_")) + "Config"
    found: type[Settings] = getattr(import_module(f"{package}.{kind}"), name)
    return found


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
