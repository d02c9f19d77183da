"""Escape sequences of roff reduced to their characters."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final, cast
from unicodedata import normalize

from sumpool.io.bounded import parse_json

_NAME = r"(?:\[(?P<{0}_long>[^\]\n]*)\]|\((?P<{0}_two>..)|(?P<{0}_one>[^\s\[(]))"
_ESCAPE: Final = re.compile(
    r"\\(?:"
    rf"\*{_NAME.format('string')}"
    rf"|[fFmMgknY]{_NAME.format('dropped')}"
    r"|s(?:[-+]?[0-9]|[-+]?\[[^\]\n]*\]|[-+]?\([-+]?..|'[^'\n]*')"
    r"|[hvwlLDXZRxbBSHA]'[^'\n]*'"
    r"|o'(?P<over>[^'\n]*)'"
    r"|N'(?P<code>\d{1,6})'"
    r"|\[(?P<special_long>[^\]\n]*)\]|\((?P<special_two>..)"
    r"|(?P<one>.))"
)
_COMMENT = re.compile(r'(?<!\\)(?:\\\\)*\\["#].*$')
_ONE: Final = {
    "-": "-",
    "e": "\\",
    "\\": "\\",
    " ": " ",
    "~": " ",
    "0": " ",
    "'": "\u00b4",
    "`": "`",
    ".": ".",
    "t": " ",
    "_": "_",
}
_ACCENTS: Final = {
    ":": "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    ",": "\u0327",
    "v": "\u030c",
    "o": "\u030a",
}
STRINGS: Final = {
    "R": "\u00ae",
    "Tm": "\u2122",
    "lq": "\u201c",
    "rq": "\u201d",
    "Aq": "'",
    "S": "",
    "C+": "C++",
    "--": "-",
}
"""Strings that the macro packages define."""
_MAX_DEPTH = 8


def plain_text(text: str, strings: Mapping[str, str], depth: int = 0) -> str:
    """Return a line without escape sequences; strings are replaced by their text."""
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        name = match["string_long"] or match["string_two"] or match["string_one"]
        if name:
            value = strings.get(name.split(" ")[0], "")
            return plain_text(value, strings, depth + 1) if depth < _MAX_DEPTH else ""
        if match["code"]:
            return chr(int(match["code"])) if int(match["code"]) < 0x110000 else ""
        if match["over"]:
            return match["over"][:1]
        special = match["special_long"] or match["special_two"]
        return special_character(special) if special else _ONE.get(match["one"] or "", "")

    return _ESCAPE.sub(replace, text)


def special_character(name: str) -> str:
    """Return a special character by its name, "em" or "u2014"; empty if there is none."""
    if name in _characters():
        return _characters()[name]
    if re.fullmatch(r"u[0-9A-F]{4,6}(?:_[0-9A-F]{4,6})*", name):
        codes = [int(part, 16) for part in name[1:].split("_")]
        return "".join(chr(code) for code in codes if code < 0x110000)
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return normalize("NFC", name[1] + _ACCENTS[name[0]])
    return ""


@lru_cache(maxsize=1)
def _characters() -> dict[str, str]:
    """Read the names of special characters, those of groff_char(7) that manual pages use."""
    content = (files("sumpool.documents.roff") / "characters.json").read_text("utf-8")
    return cast(dict[str, str], parse_json(content))


def without_comment(line: str) -> str:
    """Remove a comment from the end of a line."""
    return _COMMENT.sub("", line) if '\\"' in line or "\\#" in line else line


def arguments(text: str) -> list[str]:
    """Split the arguments of a request: words, or quoted texts in which "" is a quote."""
    result = []
    for match in re.finditer(r'"(?P<quoted>(?:[^"]|"")*)(?:"|$)|(?P<word>(?:[^\s\\]|\\.|\\$)+)', text):
        word = match["word"]
        result.append(word if word is not None else match["quoted"].replace('""', '"'))
    return result
