"""Regular expressions of the readers, each by the methods that call it, on repetitive texts ten times as long."""

import ast
import re
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

import sumpool.documents
import sumpool.text
from tests.torture.figures import Measured

ID: Final = "B4"
FIGURE: Final = "every regular expression of the readers on 55 pathological texts: t(10n) <= 12 t(n)"
NIGHT: Final = 40_000
QUICK: Final = 2_000
_RATIO = 12
_UNMEASURABLE = 2e-7
"""Seconds for a character below which growth is noise."""
_TRIES = 3
PARTS: Final = (
    "a", " ", "\n", "a ", "a\n", " \n", "\t", "0", "0.", "1 ", "(", ")", "[", "]", "{", "<", ">", "<a", "<a ", "</a>",
    "<!--", "&a;", '"', "'", ".", ". ", "...", ",", ":", "a:", "-", "- ", "--", "=", "=\n", "*", "**a", "_", "`", "~",
    "#", "# a\n", "|", "| a", "\\", "\\{", "> ", ">a", "a@", "http://", "[a](", "From a\n", "A. b\n", "\x1b[",
    "\u00e9 ",
)  # fmt: skip
"""Repeated parts."""
_BOUNDED: Final = frozenset(
    f"sumpool.documents.{name}"
    for name in (
        "formats.mail._FORWARDED_RULE", "pdf.blocks._LEADER", "pdf.blocks._LINE_END", "pdf.blocks._ADDRESS_END",
        "sections.PAGE_REFERENCE",
    )
)  # fmt: skip
"""Expressions that are only called with the beginning or the end of a text, of at most 500 characters."""
_METHODS: Final = ("match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split")


def measure(count: int, folder: Path) -> Measured:
    """Run each expression on texts of `count` and of ten times as many characters."""
    del folder
    faults = []
    patterns = list(_patterns())
    for name, pattern, method in patterns:
        for part in PARTS:
            texts = [_text(pattern, part, size) for size in (count, 10 * count)]
            for _ in range(_TRIES):
                short, long = (_seconds(pattern, method, text) for text in texts)
                if is_linear := long <= _RATIO * max(short, _UNMEASURABLE * count):
                    break
            if not is_linear:
                faults.append(f"{name}.{method} on {part!r}: {1000 * short:.0f} ms, then {1000 * long:.0f} ms")
    cases = max(count, len(patterns) * len(PARTS))
    return Measured.by_faults(f"{len(patterns)} expressions and methods", faults, cases)


def _text(pattern: re.Pattern[Any], part: str, size: int) -> str | bytes:
    text = part * (size // len(part)) + "\x00x"
    return text.encode() if isinstance(pattern.pattern, bytes) else text


def _seconds(pattern: re.Pattern[Any], method: str, text: str | bytes) -> float:
    """Return the processor time of a method."""
    start = time.process_time()
    if method in ("sub", "subn"):
        pattern.sub(text[:0], text)
    elif method == "finditer":
        all(pattern.finditer(text))
    else:
        getattr(pattern, method)(text)
    return time.process_time() - start


def _patterns() -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """Yield the compiled expressions of the modules of readers by name, with each method that is called on them."""
    called: dict[tuple[str, str], set[str]] = {}
    root = Path(sumpool.documents.__file__).parents[1]
    for path in root.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        origins = {alias.name: node.module or "" for node in imported for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS and isinstance(node.value, ast.Name):
                called.setdefault((origins.get(node.value.id, module), node.value.id), set()).add(node.attr)
    for package in (sumpool.documents, sumpool.text):
        for info in walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in vars(import_module(info.name)).items():
                where = f"{info.name}.{name}"
                for pattern in value.values() if isinstance(value, dict) else [value]:
                    if isinstance(pattern, re.Pattern) and where not in _BOUNDED:
                        yield from ((where, pattern, method) for method in called.get((info.name, name), ()))
