"""The parts of nltk that are used, without scipy's statistics.

nltk's measures of association, which nobody asks for, import these where scipy is installed, and do without them where
it is not: 1.4 of the 4.8 seconds that a cold start once spent importing.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Let imports within it find that a module is not installed, unless it is imported already."""
    hide = name not in sys.modules
    if hide:
        sys.modules[name] = None  # type: ignore[assignment] # what Python's import documents for this
    try:
        yield
    finally:
        if hide:
            del sys.modules[name]


with _without("scipy.stats"):
    from nltk.stem.porter import PorterStemmer
    from nltk.tokenize.punkt import PunktLanguageVars, PunktParameters, PunktSentenceTokenizer, PunktTrainer

__all__ = ["PorterStemmer", "PunktLanguageVars", "PunktParameters", "PunktSentenceTokenizer", "PunktTrainer"]
