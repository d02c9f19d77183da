"""Recognition of drawings and prose in lines of text, by rules, columns and words."""

import re
from collections.abc import Sequence

from sumpool.text.language import function_words
from sumpool.text.sentences import may_end_paragraph

_RULE = re.compile(r"([^\w\s])\1{2,}+(?:\s+\1{2,}+)*+$|(?:[-=_*+~#.|]\s?){4,}$")
_COLUMNS = re.compile(r"\S {5,}\S|(?:\. ?){4}")
_CORNER = re.compile(r"--\+|\+--")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_WORD = re.compile(r"[\"'(\[|]*([A-Za-z]+(?:['/-][A-Za-z]+)*)[\"')\]|]*[.,;:?!]*[\"')\]]*")


def is_rule(line: str) -> bool:
    """Return whether a line without leading space is drawn, not written."""
    return bool(_RULE.match(line))


def has_columns(lines: Sequence[str]) -> bool:
    """Return whether a line has cells far apart or leaders of dots."""
    return any(_COLUMNS.search(line.lstrip()) for line in lines)


def lacks_punctuation(line: str) -> bool:
    """Return whether a line does not end in punctuation."""
    return line[-1] not in ",)\"'" and not may_end_paragraph(line)


def reads_as_prose(lines: Sequence[str]) -> bool:
    """Return whether lines read as sentences: most words are words, and every fourth is a function word of English."""
    words = " ".join(lines).split()
    matches = [match[1].lower() for word in words if (match := _WORD.fullmatch(word))]
    known = function_words("en") | {"a"}  # which tells no language, as several have it
    functional = sum(map(known.__contains__, matches))
    return len(words) > 7 and 4 * functional >= len(words) and 4 * len(matches) >= 3 * len(words)


def is_drawing(lines: Sequence[str]) -> bool:
    """Return whether lines are a drawing, a numeric table or a dump, by their fraction of letters and their rules.

    Sentences with many numbers, or with names between bars ("the |Origin| header"), are none.
    """
    text = "".join("".join(lines).split()).encode("ascii", "ignore")
    if len(text.translate(None, _NO_LETTERS)) >= 0.7 * len(text) and sum(map(_is_drawn, lines)) < 2:
        return False
    is_prose = reads_as_prose(lines) and not lacks_punctuation(lines[-1])
    return not is_prose or has_columns(lines) or any(is_rule(line.lstrip()) or _CORNER.search(line) for line in lines)


def _is_drawn(line: str) -> bool:
    """Return whether a line has cells between bars, or parts of a rule."""
    return line.count("|") > 1 or bool(_CORNER.search(line)) or "====" in line
