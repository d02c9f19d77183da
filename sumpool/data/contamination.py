"""How much of the evaluation documents the training documents give away, by runs of 13 words.

All training documents are read, but only a bounded sample of the evaluation documents' runs is looked for, so that
memory does not grow with the data. A run is known by a 64-bit number.
"""

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

SIZE = 13
"""Words of a run."""
DOCUMENTS = 200
"""Documents of a split that are looked for, evenly spaced over it."""
RUNS = 2000
"""Runs of a document that are looked for, evenly spaced over it."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def sample(documents: Iterable[Sequence[str]]) -> np.ndarray:
    """Gather the runs to look for: (runs,) uint64, sorted, each once.

    Args:
        documents: Words of the sampled documents.
    """
    chosen = [np.empty(0, np.uint64)]
    for words in documents:
        runs = hashed_runs(words)
        chosen.append(runs[:: max(1, -(-len(runs) // RUNS))])
    return np.unique(np.concatenate(chosen))


def hits(sought: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """Find which of the sought runs a document holds: indices into `sought`.

    Args:
        sought: (runs,) uint64, sorted.
        words: Words of the document.
    """
    if not len(sought):
        return np.empty(0, np.int64)
    runs = hashed_runs(words)
    places = np.searchsorted(sought, runs)
    places[places == len(sought)] = 0
    return np.unique(places[sought[places] == runs])


def hashed_runs(words: Sequence[str]) -> np.ndarray:
    """Number every run of 13 words: (len(words) - 12,) uint64, the same in every process."""
    count = len(words) - SIZE + 1
    if count < 1:
        return np.empty(0, np.uint64)
    numbers = np.fromiter((zlib.crc32(word.encode()) for word in words), np.uint64, len(words))
    numbers *= _FACTOR  # spread over all 64 bits; arithmetic on arrays wraps around
    numbers ^= numbers >> np.uint64(29)
    runs = np.zeros(count, np.uint64)
    for place in range(SIZE):
        runs *= _FACTOR
        runs += numbers[place : place + count]
    return runs
