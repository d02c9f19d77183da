"""Form of the candidates of extraction in texts without structure: whole sentences, with those that they refer to."""

from collections.abc import Iterable, Sequence
from typing import Final

from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.text.form import sentence_faults
from sumpool.text.language import ENGLISH, UNSPACED, word_count
from sumpool.text.prose import depends_on_predecessor, tidy_sentence

MIN_WORDS: Final = 120
"""Words of whole sentences below which others are candidates too."""
_TARGETS = 3
"""Words of candidates that stand alone, relative to a target length, below which others are candidates too."""


def whole_sentences(
    candidates: Sequence[tuple[int, str]], target: LengthTarget | None = None, language: str = ENGLISH
) -> list[tuple[int, str]]:
    """Return the candidates that are whole sentences, without list marks.

    Args:
        candidates: Index and text of each.
        target: Length of the summary, for which a sentence cannot bring the one that it refers to; candidates then
            stand alone.
        language: Code of their language.

    Returns:
        All candidates if there are too few others, or not more words than the target asks for.
    """
    is_short = target is not None and not target.in_sentences and _words(candidates) <= target.maximum
    if language in UNSPACED or is_short:
        return list(candidates)
    whole = [(index, text) for index, text in _tidy(candidates) if not sentence_faults(text, language)]
    if _words(whole) < MIN_WORDS:
        return list(candidates)
    if target is None:
        return whole
    alone = [(index, text) for index, text in whole if index == 0 or not depends_on_predecessor(text, language)]
    return alone if _words(alone) >= _TARGETS * target.words else whole


def resolve(places: Sequence[int], candidates: Sequence[tuple[int, str]], language: str = ENGLISH) -> list[int]:
    """Remove selected sentences that refer to one that is not selected.

    Where more than half of the words would be removed, the sentences that they refer to are added instead, if these are
    candidates.

    Args:
        places: Places of the selected sentences among the candidates.
        candidates: Index and text of each.
        language: Code of their language.

    Returns:
        Places in order; those that were given if none would remain.
    """
    units = {place: _unit(place, candidates, language) for place in places}
    kept = [place for place in places if units[place] and set(units[place]) <= units.keys()]
    if 2 * _words(candidates[place] for place in kept) < _words(candidates[place] for place in places):
        kept = sorted({member for unit in units.values() for member in unit})
    return sorted(kept or places)


def _unit(place: int, candidates: Sequence[tuple[int, str]], language: str) -> list[int]:
    """Return a sentence with all that it refers to; nothing if one of them is no candidate."""
    unit = [place]
    while candidates[unit[-1]][0] and depends_on_predecessor(candidates[unit[-1]][1], language):
        before = unit[-1] - 1
        if before < 0 or candidates[before][0] != candidates[unit[-1]][0] - 1:
            return []
        unit.append(before)
    return unit


def _tidy(candidates: Iterable[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    return ((index, tidy_sentence(text)) for index, text in candidates)


def _words(candidates: Iterable[tuple[int, str]]) -> int:
    return sum(word_count(text) for _, text in candidates)
