"""Print the recipe reference where PyTorch is not installed, as the documentation is built without it.

    python docs/scripts/recipe_reference.py > docs/recipes.md

The settings stand beside the modules that they configure, so that importing them imports torch. Here every name of
torch is an empty class. `sumpool help recipe` prints the same.
"""

import sys
from abc import ABCMeta
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Name(ABCMeta):
    """Class of names of torch: one whose attributes are names, too."""

    def __getattr__(cls, name: str) -> type:
        return _stand_in(name)


class _Base(metaclass=_Name):
    """What stands for a class of torch, or a decorator."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __call__(self, function: object) -> object:
        return function


def _stand_in(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Name(name, (_Base,), {})


class _Module(ModuleType):
    """Module of torch."""

    def __getattr__(self, name: str) -> type:
        return _stand_in(name)


class _Finder(MetaPathFinder, Loader):
    """Finder of all modules of torch."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] == "torch" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        del module


if __name__ == "__main__":
    sys.meta_path.insert(0, _Finder())
    from sumpool.cli.recipe_reference import page

    sys.stdout.write(f"{page()}\n")
