"""Marks of list items: bullets, numbers and letters; an initial, as in "M. Dupont", is none."""

import re
from collections.abc import Iterable
from itertools import takewhile
from string import ascii_uppercase
from typing import Final

_BULLET: Final = r"[-*+\u2022\u2023\u25e6\u00b7\u2043\u25aa\u25cf\u2013\u2014]|o"
_COUNTED: Final = r"[(\uff08]?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivx]{2,5})[.)\uff09\u3001]"
_ALONE: Final = re.compile(rf"{_BULLET}|{_COUNTED}")
_MARK: Final = re.compile(
    rf"(?:(?:{_BULLET}|(?P<letter>[A-Z])\.|{_COUNTED}|(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{1,5}}(?! \(?(?:19|20)\d\d-))"
    r"|\[\d{1,3}\]|[\u2460-\u2473])\s+|[(\uff08]?[\u4e00-\u4e5d\u5341\d]{1,3}[)\uff09\u3001])(?=\S)"
)
_LETTER: Final = re.compile(r"\s*([A-Z])\.\s+\S")


def list_letters(lines: Iterable[str]) -> frozenset[str]:
    """Return the capital letters that are marks of items in a text: from A on, and at least two of them begin lines."""
    begun = {letter[1] for line in lines if (letter := _LETTER.match(line))}
    letters = frozenset(takewhile(begun.__contains__, ascii_uppercase))
    return letters if len(letters) > 1 else frozenset()


def list_mark(text: str, letters: frozenset[str] = frozenset()) -> int:
    """Return the length of the mark of a list item and the space behind it; 0 if there is none.

    Args:
        text: Line or sentence without leading space. "3.5 million" begins with a quantity, "3.5 Lists" with a mark.
        letters: Capital letters that are marks before a full stop, see `list_letters`.
    """
    mark = _MARK.match(text)
    if not mark or (mark["letter"] and mark["letter"] not in letters):
        return 0
    return 0 if mark["number"] and text[mark.end()].islower() else mark.end()


def is_list_mark(text: str) -> bool:
    """Return whether a text is the mark of a list item and nothing else."""
    return bool(_ALONE.fullmatch(text))
