"""Manual pages without what pandoc cannot read: it drops tables, links and conditions, and refuses pages in mdoc."""

import re
from collections.abc import Iterator
from typing import Final

from sumpool.documents.office.elements import marked

_CONDITION: Final = re.compile(
    r"\.\s*i[fe]\s+(?P<not>!?)(?P<test>'(?P<left>[^']*)'(?P<right>[^']*)'|[^\s'\\{]\S*?(?=\s|\\\{)|\\n\S*?(?=\s|\\\{))"
    r"\s*(?P<rest>.*)"
)
_ELSE: Final = re.compile(r"\.\s*el\b\s*(?P<rest>.*)")
_SKIPPED: Final = {".ig": "..", ".EQ": ".EN", ".PS": ".PE", ".GS": ".GE"}
"""Comments, equations and pictures, by their ends."""
_LINK: Final = re.compile(r'\.\s*(?:URL|MTO)\s+"(?P<target>[^"]*)"(?:\s+"(?P<text>[^"]*)")?(?:\s+"(?P<end>[^"]*)")?')
_BARE_LINK: Final = re.compile(r"^\.(?:UR|MT) (\S+)\n\.(?:UE|ME)[ \t]*(\S*)$", re.MULTILINE)
_CONTINUED: Final = re.compile(r"(?<![{\\])\\\n")
_GLUED: Final = re.compile(r"(?<!\\)\\c\n(?![.'])")
_TAB: Final = re.compile(r"tab\s*\((.)\)")
_DEFINITION: Final = re.compile(r"\.\s*(?:de1?|am|ig)\b")
_MACRO: Final = re.compile(r"\.\s*[A-Z%][A-Za-z0-9]{0,2}(?:\s|$)")
_HEADER: Final = re.compile(r"\.\s*(?:Dd|Dt|Os)\b")
_SIGNS: Final = {"Oo": "No [", "Oc": "No ]", "Bro": "No {", "Brc": "No }", "Po": "No (", "Pc": "No )"}
"""Macros that open a bracket, perhaps for another line to close it."""
_EXTENSION: Final = re.compile(r"(?:^\.|\s)(Xo|Xc)(?=\s|$)")
"""Macros around several lines that are arguments of one."""
_SPACING: Final = re.compile(r" Sm (?:on|off)\b")
_DROPPED: Final = ("Xo", "Xc", "Fa", "Fc")
_NO_SPACE: Final = re.compile(r"^(\..*)\n\.Ns\s", re.MULTILINE)
_INCLUDE: Final = re.compile(r"\.\s*In\s+(\S+)$")
_MAX_EXTENSION: Final = 50
_MAX_CONDITION: Final = 1_000
"""Lines that depend on a condition."""
_MAX_NAME_LINE: Final = 1_000


def simplify_man(text: str) -> str:
    """Return a page with the macros man in which the rows of tables, links and conditions are lines of text."""
    text = _BARE_LINK.sub(r"\1\2", _CONTINUED.sub(" ", _GLUED.sub("", text)))
    lines = _chosen(iter(text.split("\n")))
    return "\n".join(line for first in lines for line in _simple(first, lines))


def _chosen(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines whose conditions hold on a terminal."""
    holds = True
    for line in lines:
        condition = _CONDITION.match(line)
        match = condition or _ELSE.match(line)
        if not match:
            yield line
            continue
        holds = _holds(condition) if condition else not holds
        part = [match["rest"]]
        opened = _opened_braces(part[0])
        while opened > 0:
            part.append(next(lines, "\\}"))
            opened += _opened_braces(part[-1]) if len(part) < _MAX_CONDITION else -opened
        if part[0].startswith("\\{"):
            part[0] = part[0][2:].lstrip("\\")
            part[-1] = "".join(part[-1].rsplit("\\}", 1))
        if holds:
            yield from _chosen(line for line in part if line.strip() not in ("", "."))


def _holds(condition: re.Match[str]) -> bool:
    """Return whether a condition holds for groff on a terminal; those on other registers and names do not."""
    if condition["left"] is not None:
        return (condition["left"] == condition["right"]) != bool(condition["not"])
    return (condition["test"] in ("n", "\\n(.g", "\\n[.g]", "o", "e")) != bool(condition["not"])


def _opened_braces(line: str) -> int:
    return line.count("\\{") - line.count("\\}")


def _simple(line: str, rest: Iterator[str]) -> Iterator[str]:
    """Yield the lines that stand for a line, and for the table that it begins."""
    link = _LINK.match(line)
    if line.startswith(".TS"):
        yield from _table(rest)
    elif line[:3] in _SKIPPED:
        end = _SKIPPED[line[:3]]
        next((line for line in rest if line.startswith(end)), None)
    else:
        yield (link["text"] or link["target"]) + (link["end"] or "") if link else line


def _table(lines: Iterator[str]) -> Iterator[str]:
    """Yield the rows of a table, whose lines follow, as paragraphs."""
    separator = "\t"
    in_format, opened = True, 0
    row: list[str] = []
    for line in lines:
        if line.startswith(".TE"):
            break
        if in_format or line.startswith(".T&"):
            tab = _TAB.search(line)
            separator = tab[1] if tab else separator
            in_format = not line.rstrip().endswith(".")
        elif _MACRO.match(line):
            row.append(line.partition(" ")[2].replace('"', ""))
        elif line.strip() not in ("_", "=", "") and not line.startswith("."):
            row.append(line)
            opened += line.count("T{") - line.count("T}")  # text over several lines
        if row and opened <= 0:
            text = " ".join(row).replace("T{", "").replace("T}", "").replace(separator, " ")
            yield f".PP\n{marked(' '.join(text.split()), 'table_row')}"
            row = []
    yield ".PP"


def simplify_mdoc(text: str) -> str:
    """Return a page with the macros mdoc that pandoc reads, whose lines say the same.

    The header has the order that pandoc expects, brackets are signs, lines that belong to one are joined, and
    definitions and requests of roff, of which groff prints no text, are left out.
    """
    lines = _NO_SPACE.sub(r"\1 Ns ", _CONTINUED.sub(" ", text)).split("\n")
    header = {line[1:].strip()[:2]: line for line in lines if _HEADER.match(line)}
    top = [header.get("Dd", ".Dd"), header.get("Dt", ".Dt UNTITLED 7"), ".Os"]
    if ".Sh NAME" not in lines:  # under which alone pandoc reads a description
        lines = [f".No \\(em {line[4:]}" if line.startswith(".Nd ") else line for line in lines]
    body = (line for line in _extended(_printed(lines)) if not _HEADER.match(line))
    return "\n".join([*top, *(_with_signs(line) for line in body)])


def _printed(source: list[str]) -> Iterator[str]:
    """Yield the lines that are text or macros of mdoc."""
    defining = False
    lines = iter(source)
    for line in lines:
        if defining or _DEFINITION.match(line):
            defining = not line.startswith("..")
        elif _MACRO.match(line) or not line.startswith((".", "'")):
            yield line


def _extended(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines, in which those from Xo to Xc are one."""
    for line in lines:
        while line.startswith(".Nd"):  # whose text may go on behind a macro
            part = next(lines, ".Sh") if len(line) < _MAX_NAME_LINE else ".Pp"
            if part.startswith((".Sh", ".Pp")):
                yield line
                line = part
            else:
                line += " " + (part.partition(" ")[2] if part.startswith(".") else part)
        parts, opened = [line], _opened(line)
        while opened > 0 and len(parts) < _MAX_EXTENSION:
            part = next(lines, ".Xc")
            opened += _opened(part)
            parts.append(part.removeprefix(".") if part.startswith(".") else f"No {part}")
        if len(parts) > 1 or _EXTENSION.search(line):
            line = " ".join(parts).removeprefix(".").replace(" Fo ", " Fn ")
            line = "." + " ".join(word for word in _SPACING.sub("", line).split() if word not in _DROPPED)
        yield line if not line.startswith(".") or _MACRO.match(line) else f".No {line[1:]}"


def _opened(line: str) -> int:
    """Return the number of extensions that a line leaves open."""
    names = _EXTENSION.findall(line) if line.startswith(".") else []
    return names.count("Xo") - names.count("Xc")


def _with_signs(line: str) -> str:
    if not line.startswith("."):
        return line
    line = _INCLUDE.sub(r".Fd #include <\1>", line)
    return "." + " ".join(_SIGNS.get(word, word) for word in line[1:].split(" "))
