"""The parts of nltk that are used, without the rest of it.

Whoever imports a module of nltk imports all of them, parsers, chunkers and scipy's statistics included: 1.4 of the 4.8
seconds that a cold start once spent importing, and .4 without scipy.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType


@contextmanager
def bare(name: str, *packages: str) -> Iterator[None]:
    """Let modules of some packages of a library be imported within it without what the packages import themselves.

    Afterwards the library is as if nobody had imported it, for those who want all of it.

    Args:
        name: The library.
        packages: Those of its packages that hold the modules.

    Raises:
        ModuleNotFoundError: If there is no such package.
    """
    before = {module: sys.modules.pop(module) for module in _modules(name)}
    try:
        for package in (name, *packages):
            spec = find_spec(package)
            if spec is None or spec.submodule_search_locations is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)
            sys.modules[package] = empty = ModuleType(package)
            empty.__path__ = list(spec.submodule_search_locations)
        yield
    finally:
        for module in _modules(name):
            del sys.modules[module]
        sys.modules.update(before)


def _modules(name: str) -> list[str]:
    return [module for module in sys.modules if module.split(".")[0] == name]


with bare("nltk", "nltk.stem", "nltk.tokenize"):
    from nltk.stem.porter import PorterStemmer
    from nltk.tokenize.punkt import PunktLanguageVars, PunktParameters, PunktSentenceTokenizer, PunktTrainer

__all__ = ["PorterStemmer", "PunktLanguageVars", "PunktParameters", "PunktSentenceTokenizer", "PunktTrainer", "bare"]
