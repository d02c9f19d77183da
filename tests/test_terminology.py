"""Names and words of the package: one name, one thing, and the terms of the literature.

CONTRIBUTING.md lists the terms that were replaced. A term in backticks is an identifier, any other a phrase.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "sumpool").rglob("*.py"))
PROSE = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
VAGUE_LOCALS = {"found", "each", "own"}
CLAUSES = {"What", "How", "Where", "Which", "Who", "Says", "Gives", "Tells", "Lets", "Let"}
"""First words of docstrings that are clauses instead of a noun phrase or an imperative."""
ROW = re.compile(r"^\| (?P<old>[^|]+?) +\| (?P<new>[^|]+?) +\|$", re.MULTILINE)


def terminology() -> tuple[set[str], list[str]]:
    """Old identifiers, and old phrases in lower case, of the table in CONTRIBUTING.md."""
    _, _, section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Terminology")
    cells = [row["old"] for row in ROW.finditer(section.split("\n## ")[0])][1:]
    identifiers = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    phrases = [phrase.strip().lower() for cell in cells for phrase in re.sub(r"`\w+`", "", cell).split(",")]
    return identifiers, [phrase for phrase in phrases if phrase]


IDENTIFIERS, PHRASES = terminology()


def old_terms(source: str) -> Iterator[str]:
    """Old terms of a file, each with its line: identifiers in code, both kinds in docstrings and comments."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.string in IDENTIFIERS:
            yield f"line {token.start[0]}: {token.string}"
        elif token.type in {tokenize.STRING, tokenize.COMMENT}:
            text = " ".join(token.string.split()).lower()
            yield from (f"line {token.start[0]}: {phrase}" for phrase in PHRASES if phrase in text)
            quoted = re.findall(r"`(\w+)`", token.string)
            yield from (f"line {token.start[0]}: {name}" for name in quoted if name in IDENTIFIERS)


def vague_locals(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if name in VAGUE_LOCALS:
                yield f"line {node.lineno}: {name}"
            case ast.arg(arg=name) if name in VAGUE_LOCALS:
                yield f"line {node.lineno}: {name}"


def clauses(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            if docstring.split(" ")[0] in CLAUSES:
                yield docstring.split("\n")[0]


def test_the_table_lists_terms() -> None:
    assert len(IDENTIFIERS) > 40
    assert len(PHRASES) > 5


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_uses_current_terms(path: Path) -> None:
    source = path.read_text()
    assert list(old_terms(source)) == []
    assert list(vague_locals(ast.parse(source))) == []
    assert list(clauses(ast.parse(source))) == []


@pytest.mark.parametrize("path", PROSE, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_uses_current_terms(path: Path) -> None:
    lines = (line for line in path.read_text().splitlines() if not line.startswith("> "))  # quotations of documents
    text = " ".join(" ".join(lines).split()).lower()
    assert [phrase for phrase in PHRASES if phrase in text] == []


def test_no_class_name_is_used_twice() -> None:
    names = Counter(
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("__")
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("code", ["plan_length = 1", "f(rooms)", "# signs of health", 'd = """A `Replayed` step."""'])
def test_old_terms_are_detected(code: str) -> None:
    assert len(list(old_terms(code))) == 1
