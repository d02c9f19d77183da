"""Marks of list items in texts; an initial, as in "M. Dupont", is none."""

import re
from collections.abc import Iterable
from itertools import takewhile
from string import ascii_uppercase
from typing import Final

_MARK: Final = re.compile(
    r"(?:(?:[-*+\u2022\u2023\u25e6\u00b7\u2043\u25aa\u25cf\u2013\u2014o]|\(?\d{1,3}[.)]"
    r"|\d{1,3}(?:\.\d{1,3}){1,5}\.?(?! \(?(?:19|20)\d\d-)|\(?[a-z][.)]|\(?[A-Z]\)|\([A-Z]\.|(?P<letter>[A-Z])\."
    r"|\[\d{1,3}\]|\(?[ivx]{2,5}[.)]|[\u2460-\u2473])\s+"
    r"|[\uff08(]?[\u4e00-\u4e5d\u5341\d]{1,3}[\uff09)\u3001])(?=\S)"
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
        text: Line without leading space.
        letters: Capital letters that are marks before a full stop, see `list_letters`.
    """
    mark = _MARK.match(text)
    return mark.end() if mark and (mark["letter"] is None or mark["letter"] in letters) else 0
