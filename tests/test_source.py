"""What no file of the package may do, whoever writes it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "sumpool").rglob("*.py"))
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "scipy"}
FORBIDDEN_CALLS = {"eval", "exec", "print", "__import__", "torch.load", "yaml.load", "nltk.download", "os.system"}
FORBIDDEN_METHODS = {"extractall"}
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "common.py", "misc.py"}
LONGEST_FILE = 250
LONGEST_FUNCTION = 50


JSON_READER = Path("sumpool/io/bounded.py")
"""The file that parses JSON, within limits of size and depth."""


def faults(tree: ast.AST) -> Iterator[str]:
    """Name every forbidden thing in a syntax tree, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = {name.name.split(".")[0] for name in names} & FORBIDDEN_MODULES
            case ast.ImportFrom(module=str(module)):
                found = {module.split(".")[0]} & FORBIDDEN_MODULES
            case ast.Call():
                found = set(call_faults(node))
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.args.kwarg:
                found = {f"**{node.args.kwarg.arg}"}
            case ast.FunctionDef() | ast.AsyncFunctionDef() if lines(node) > LONGEST_FUNCTION:
                found = {f"{node.name} of {lines(node)} lines"}
            case _:
                continue
        yield from (f"line {node.lineno}: {each}" for each in sorted(found))


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def call_faults(call: ast.Call) -> Iterator[str]:
    name = ast.unparse(call.func)
    if name in FORBIDDEN_CALLS or name.rpartition(".")[2] in FORBIDDEN_METHODS:
        yield name
    for keyword in call.keywords:
        if keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False):
            yield "shell=True"


def test_there_are_files_to_look_at() -> None:
    assert len(FILES) > 50


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_holds_nothing_forbidden(path: Path) -> None:
    text = path.read_text()
    assert list(faults(ast.parse(text))) == []
    assert text.count("\n") <= LONGEST_FILE
    assert path.name not in FORBIDDEN_NAMES
    parsers = {"json.load(", "json.loads("} - ({"json.loads("} if path.relative_to(ROOT) == JSON_READER else set())
    assert not [name for name in parsers if name in text]


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "eval('1')",
        "print(1)",
        "torch.load(path)",
        "yaml.load(text, Loader)",
        "subprocess.run('ls', shell=True)",
        "archive.extractall(path)",
        "def f(**kwargs): ...",
        "def f():\n" + "    x = 1\n" * 60,
    ],
)
def test_what_is_forbidden_is_found(code: str) -> None:
    assert len(list(faults(ast.parse(code)))) == 1


def test_what_only_looks_alike_is_allowed() -> None:
    assert list(faults(ast.parse("model.eval(); run(shell=False); f(**settings); yaml.dump(x)"))) == []
