"""Initials over several lines, as magazines, books and IEEEtran begin with: a letter of the first line beside it."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from sumpool.documents.pdf.runs import Run

_LARGER: Final = 1.6  # smallest size, in sizes of the text beside it
_HEIGHT: Final = 0.95  # of a line above the baseline of the letter at most, in its sizes
_GAP: Final = 1.5  # widest distance of the lines beside it, in their sizes
_OVERLAP: Final = 0.25  # deepest step of a line into the box of the letter, in its sizes
_SPACE: Final = 0.3  # gap behind a letter that is a word, in sizes of the text
_LEVEL: Final = 0.3  # largest distance between baselines of one line, in font sizes
_INDENT: Final = 1.2  # of the first line, which begins a paragraph, in its size
_MIN_LINES: Final = 2
_MIN_CHARACTERS: Final = 20  # of the lines beside an initial
_MIN_REST: Final = 2  # letters of the word behind a letter that is a word
_MAX_LETTERS: Final = 200  # of a page that are looked at
_WORDS: Final = frozenset("AÀIOÓEÉYUÚ\u0412\u0418\u041a\u041e\u0421\u0423\u042f")
"""Letters that are words in some language."""


def lower_initials(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of a page with each initial at the start of the first of the lines beside it."""
    kept = list(runs)
    (usual, _), *_ = Counter(run.size for run in runs).most_common(1) or [(0.0, 0)]
    for initial in [run for run in runs if run.size >= _LARGER * usual and _is_letter(run)][:_MAX_LETTERS]:
        lines = _lines_beside(initial, kept)
        if len(lines) < _MIN_LINES or sum(len(run.text) for line in lines for run in line) < _MIN_CHARACTERS:
            continue
        first = lines[0][0]
        letter = initial.text.strip()
        is_apart = first.x0 - initial.x1 > _SPACE * first.size
        text = f"{letter} {first.text}" if is_apart and _is_word(letter, first.text, runs) else letter + first.text
        moved = {id(line[0]): line[0]._replace(x0=initial.x0) for line in lines}
        moved[id(first)] = first._replace(text=text, x0=min(first.x0, initial.x0 + _INDENT * first.size))
        kept = [moved.get(id(run), run) for run in kept if run is not initial]
    return kept


def _is_letter(run: Run) -> bool:
    """Return whether a run is a capital letter, perhaps behind a quotation mark."""
    text = run.text.strip()
    return text[-1:].isupper() and (len(text) == 1 or (len(text) == 2 and not text[0].isalnum()))


def _is_word(letter: str, text: str, runs: Sequence[Run]) -> bool:
    """Return whether an initial is a word of its own before a text, by the other words of the page."""
    rest = text.split()[0].rstrip(",.;:").lower()
    if letter[-1] not in _WORDS or len(rest) < _MIN_REST:
        return False
    words = {word.strip(",.;:").lower() for run in runs for word in run.text.split()[run.text == text :]}
    return rest in words or letter[-1].lower() + rest not in words


def _lines_beside(initial: Run, runs: Sequence[Run]) -> list[list[Run]]:
    """Return the lines that begin beside a letter and no lower than it, from the top."""
    low, high = initial.y - _HEIGHT * initial.size, initial.y + _LEVEL * initial.size / _LARGER
    edge = initial.x1 - _OVERLAP * initial.size
    near = [run for run in runs if low < run.y < high and run.size * _LARGER <= initial.size and run.x1 > initial.x0]
    lines: list[list[Run]] = []
    for run in sorted(near, key=lambda run: run.y):
        if lines and run.y - lines[-1][-1].y <= _LEVEL * run.size:
            lines[-1].append(run)
        else:
            lines.append([run])
    lines = [sorted(line, key=lambda run: run.x0) for line in lines]
    # without those above and below the letter, and those of another column
    return [line for line in lines if edge <= line[0].x0 <= initial.x1 + _GAP * line[0].size]
