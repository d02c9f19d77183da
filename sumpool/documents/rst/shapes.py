"""Shapes of lines in reStructuredText: headings with their rules, and items of lists."""

import re
from collections.abc import Sequence
from typing import Final

from sumpool.documents.rst.lines import SourceLine

RULE: Final = re.compile(r"([!-/:-@\[-`{-~])\1+$")
ITEM: Final = re.compile(r"(?:[-*+\u2022\u2023\u2043]|\(?(?:\d{1,4}|#|[a-zA-Z]|[ivxlcIVXLC]{2,6})[.)])(?:\s+|$)")


def heading_size(lines: Sequence[SourceLine], start: int) -> int:
    """Return how many lines a heading with its rules has; 0 if none begins at a line."""
    line = lines[start]
    following = lines[start + 1 : start + 3]
    if line.indent and not RULE.fullmatch(line.text) and not following:
        return 0
    if len(following) == 2 and RULE.fullmatch(line.text) and following[1].text == line.text and following[0].text:
        return 3 if len(line.text) >= 3 and not RULE.fullmatch(following[0].text) else 0
    if following and line.indent == following[0].indent == 0 and RULE.fullmatch(following[0].text):
        rule = following[0].text
        return 2 if len(rule) >= min(4, len(line.text)) and not RULE.fullmatch(line.text) else 0
    return 0


def is_item(lines: Sequence[SourceLine], start: int, mark: int) -> bool:
    """Return whether a line with a mark is an item: the line below is empty, an item, or indented."""
    line = lines[start]
    if start + 1 == len(lines) or not lines[start + 1].text:
        return True
    below = lines[start + 1]
    return below.indent > line.indent or bool(mark and ITEM.match(below.text)) or below.indent < line.indent
