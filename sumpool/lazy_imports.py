"""Imports that wait until a module is used (`importlib.util.LazyLoader`)."""

import sys
from collections.abc import Collection, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

UNUSED_BY_INFERENCE = ("torch._meta_registrations", "torch._native")
"""Modules that `import torch` imports for tracing and for kernels in Triton, a third of its time. What traces or
compiles must import them."""


def import_lazily(modules: Collection[str]) -> None:
    """Execute these modules when one of their attributes is first read, not when they are imported.

    Args:
        modules: Names of modules; those that do not exist are not missed.
    """
    sys.meta_path.insert(0, _LazyFinder(modules))


class _LazyFinder(MetaPathFinder):
    def __init__(self, modules: Collection[str]) -> None:
        self._modules = frozenset(modules)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._modules:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec
