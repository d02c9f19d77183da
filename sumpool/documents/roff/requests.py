"""Requests and text lines of roff, with conditions decided as for a terminal and definitions taken out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sumpool.documents.roff.text import STRINGS, without_comment

_REQUEST = re.compile(r"[.'][ \t]*(?P<name>[^\s\\]*)(?:[ \t]*(?P<rest>.*))?$")
_TRUE_CONDITION = re.compile(r"n\b|\\n\(\.g|\\n\[?\.g|1\b")
_CONDITION = re.compile(
    r"\s*(?P<not>!?)\s*(?P<test>'[^']*'[^']*'|\"[^\"]*\"[^\"]*\"|\([^()]*(?:\([^()]*\)[^()]*)*\)|\S+)\s*(?P<rest>.*)$"
)


class Request(NamedTuple):
    """Line of a source.

    Attributes:
        number: Number in the source, from 1.
        name: Name of a request or macro; empty for text.
        rest: Arguments, or the text.
    """

    number: int
    name: str
    rest: str


@dataclass
class RoffSource:
    """Requests of a source.

    Attributes:
        lines: Lines of the source.
        strings: Strings defined so far.
        macros: Names of macros that the source defines.
    """

    lines: Sequence[str]
    strings: dict[str, str] = field(default_factory=lambda: dict(STRINGS))
    macros: set[str] = field(default_factory=set)
    _index: int = 0
    _last_condition: bool = False
    _outer: list[bool] = field(default_factory=list)

    def requests(self) -> Iterator[Request]:
        """Yield requests and text lines in order."""
        while self._index < len(self.lines):
            self._index += 1
            yield from self._line(self._index, self.lines[self._index - 1])

    def _line(self, number: int, line: str) -> Iterator[Request]:
        line = without_comment(line)
        while line.endswith("\\") and not line.endswith("\\\\") and self._index < len(self.lines):
            line = line[:-1] + without_comment(self.lines[self._index])
            self._index += 1
        match = _REQUEST.match(line) if line[:1] in (".", "'") else None
        if not match:
            self._close_blocks(line)
            yield Request(number, "", line.replace("\\}", ""))
            return
        name, rest = match["name"], (match["rest"] or "").rstrip()
        if name in ("if", "ie", "el"):
            yield from self._conditional(number, name, rest)
        elif name in ("de", "de1", "am", "ig", "dei"):
            words = rest.split()
            self._skip_definition(words[1] if len(words) > 1 else (words[0] if name == "ig" and words else ""))
            if words and name != "ig":
                self.macros.add(words[0])
        elif name in ("ds", "ds1", "as"):
            key, _, value = rest.partition(" ")
            value = value.removeprefix('"')
            self.strings[key] = self.strings.get(key, "") + value if name == "as" else value
        elif name:
            self._close_blocks(rest)
            yield Request(number, name, rest.removesuffix("\\}"))
        else:
            self._close_blocks(rest)

    def _conditional(self, number: int, name: str, rest: str) -> Iterator[Request]:
        if name == "el":
            condition = not self._last_condition
        else:
            match = _CONDITION.match(rest)
            if not match:
                return
            rest = match["rest"]
            condition = bool(_TRUE_CONDITION.match(match["test"])) != bool(match["not"])
            if name == "ie":
                self._last_condition = condition
        last = self._last_condition
        if rest.startswith("\\{"):
            if condition:
                rest = rest[2:].lstrip()
                self._outer.append(last)
            else:
                self._skip_block(rest)
        if condition and rest and rest != "\\":
            yield from self._line(number, rest.removesuffix("\\}"))
        self._last_condition = last

    def _close_blocks(self, line: str) -> None:
        """Return to the conditions around the blocks that end in a line."""
        for _ in range(min(line.count("\\}"), len(self._outer))):
            self._last_condition = self._outer.pop()

    def _skip_block(self, rest: str) -> None:
        """Skip the lines up to the end of the block that is open."""
        depth = rest.count("\\{") - rest.count("\\}")
        while depth > 0 and self._index < len(self.lines):
            line = self.lines[self._index]
            depth += line.count("\\{") - line.count("\\}")
            self._index += 1

    def _skip_definition(self, end: str) -> None:
        """Skip the lines of a definition up to `..` or `.END`."""
        while self._index < len(self.lines):
            line = self.lines[self._index].replace(" ", "").replace("\t", "")
            self._index += 1
            if line == f".{end or '.'}" or (line.startswith("..") and not end):
                break
