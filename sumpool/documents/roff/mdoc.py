"""Inline macros of mdoc, the manual pages of the BSDs, reduced to their text."""

import re
from collections.abc import Sequence
from typing import Final

_ENCLOSURES: Final = {
    "Op": "[]",
    "Bq": "[]",
    "Pq": "()",
    "Aq": "<>",
    "Brq": "{}",
    "Dq": "\u201c\u201d",
    "Sq": "\u2018\u2019",
    "Ql": "\u2018\u2019",
    "Qq": '""',
}
_OPENING: Final = {
    "Oo": "[", "Bo": "[", "Po": "(", "Ao": "<", "Bro": "{", "Do": "\u201c", "So": "\u2018", "Qo": '"', "Fo": "",
}  # fmt: skip
_CLOSING: Final = {
    "Oc": "]", "Bc": "]", "Pc": ")", "Ac": ">", "Brc": "}", "Dc": "\u201d", "Sc": "\u2019", "Qc": '"', "Fc": ")",
}  # fmt: skip
_NAMES: Final = {
    "At": "AT&T UNIX",
    "Bx": "BSD",
    "Fx": "FreeBSD",
    "Nx": "NetBSD",
    "Ox": "OpenBSD",
    "Dx": "DragonFly",
    "Ux": "UNIX",
}
_PLAIN: Final = frozenset(
    re.split(
        r"\s+",
        """Ad An Ar Cd Cm Dv Em Er Ev Fa Fd Fr Ft Ic In Lb Li Lk Ms Mt Nd No Pa Sx Sy Tn Va Vt St Xo Xc Ud Bt Hf Bk Ek
        Nm Fl Xr Fn Ns Pf Ap Sm %A %B %C %D %I %J %N %O %P %Q %R %T %U %V""",
    )
)
INLINE_MACROS: Final = _PLAIN | _ENCLOSURES.keys() | _OPENING.keys() | _CLOSING.keys() | _NAMES.keys()
_CLOSING_MARKS = frozenset(".,:;)]?!")
_OPENING_MARKS = frozenset("([")
GLUE: Final = "\0"
"""Mark between parts without a space between them."""


def inline_line(macro: str, words: Sequence[str], name: str) -> str:
    """Return the text of a line with an inline macro.

    Args:
        macro: Macro of the line.
        words: Arguments, which may be macros themselves.
        name: Name of the page, for Nm without an argument.
    """
    return " ".join(_parts(macro, list(words), name)).replace(f" {GLUE}", GLUE).replace(f"{GLUE} ", GLUE)


def _parts(macro: str, words: list[str], name: str) -> list[str]:
    """Return the words of a macro; `GLUE` stands where no space is."""
    if macro in _ENCLOSURES:
        trailing = _trailing_marks(words)
        inner = words[: len(words) - len(trailing)]
        marks = _ENCLOSURES[macro]
        return [marks[0] + GLUE, *_plain(inner, "", name), GLUE + marks[1], *(GLUE + mark for mark in trailing)]
    if macro in _OPENING:
        first = f"{words.pop(0)}(" if macro == "Fo" and words else _OPENING[macro]
        return [first + GLUE, *_plain(words, "", name)]
    if macro in _CLOSING:
        return [GLUE + _CLOSING[macro], *_plain(words, "", name)]
    if macro == "Bx" and words[:1] and words[0][0].isdigit():
        return [f"{words[0]}BSD", *_plain(words[1:], "", name)]
    if macro in _NAMES:
        return [_NAMES[macro], *_plain(words, "", name)]
    if macro == "Ns":
        return [GLUE, *_plain(words, "", name)]
    if macro == "Ap":
        return [f"{GLUE}'{GLUE}", *_plain(words, "", name)]
    if macro == "Pf" and words:
        return [words[0] + GLUE, *_plain(words[1:], "", name)]
    if macro == "Sm":
        return []
    return _plain(words, macro, name)


def _plain(words: list[str], macro: str, name: str) -> list[str]:
    """Return arguments up to the next macro, which takes the rest of the line."""
    parts: list[str] = []
    rest: list[str] = []
    arguments = last = 0
    for index, word in enumerate(words):
        if word in INLINE_MACROS and (index or not macro or macro in ("No", "Xo")):
            rest = _parts(word, words[index + 1 :], name)
            break
        if word in _CLOSING_MARKS:
            parts.append(GLUE + word)
        elif word in _OPENING_MARKS:
            parts.append(word + GLUE)
        else:
            parts.append(_argument(macro, word, arguments))
            arguments, last = arguments + 1, len(parts)
    if not arguments:
        parts[:0] = _default(macro, name)
    if macro == "Fn" and arguments:
        parts.insert(last, GLUE + (")" if arguments > 1 else "()"))
    return parts + rest


def _argument(macro: str, word: str, index: int) -> str:
    if macro == "Fl":
        return f"-{word}"
    if macro == "Xr" and index == 1:
        return f"{GLUE}({word})"
    if macro == "Fn" and index:
        return f"{GLUE}({word}" if index == 1 else f"{GLUE}, {word}"
    return f"<{word}>" if macro == "In" else word


def _default(macro: str, name: str) -> list[str]:
    return {"Nm": [name], "Fl": ["-"], "Ar": ["file ..."]}.get(macro, [])


def _trailing_marks(words: Sequence[str]) -> list[str]:
    count = 0
    while count < len(words) and words[-1 - count] in _CLOSING_MARKS:
        count += 1
    return list(words[len(words) - count :])
