"""One-line faults of Python functions, and a draw of them.

A fault replaces a part of one line by another expression, as the mutation operators of the literature do: a flipped
sign, an index that is off by one, a mask that is not applied. Docstrings, annotations, defaults, assertions, and the
messages of errors are left alone.
"""

import ast
import json
import random
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import final

PACKAGES = ("core", "training", "ranking", "inference", "documents", "evaluation", "io")

_SIGNS = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
_BOOLEANS = {"and": "or", "or": "and"}
_COMPARISONS = {"<": "<=", ">": ">=", "==": "!=", "in": "not in", "is": "is not"}
_COMPARISONS |= {new: old for old, new in _COMPARISONS.items()}
_EXTREMA = {"min": "max", "amin": "amax", "argmin": "argmax", "minimum": "maximum", "clamp_min": "clamp_max"}
_EXTREMA |= {new: old for old, new in _EXTREMA.items()}
_LOST_METHODS = {"sqrt", "abs", "exp", "log", "log1p", "square", "clamp", "clamp_min", "clamp_max", "strip", "lower"}
_LOST_FUNCTIONS = {"sqrt", "abs", "exp", "log", "sorted", "reversed", "dropout"}
_REDUCTIONS = {
    "sum",
    "mean",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "any",
    "all",
    "norm",
    "logsumexp",
    "cumsum",
    "argsort",
}
_AXIS_FIRST = {"size", "softmax", "log_softmax", "flatten", "squeeze", "unsqueeze", "unbind", "gather", "index_select"}
_AXIS_FIRST |= {"scatter", "scatter_add", "index_add", "index_copy", "cat", "stack", "flip"} | _REDUCTIONS
_SYMMETRIC = set(_EXTREMA) | {"equal", "isclose", "gcd", "lcm", "dot", "logaddexp", "logical_and", "logical_or"}
_TYPED = {"isinstance", "issubclass", "cast", "enumerate", "zip", "range", "__init__"}
"""Calls whose swapped arguments never work, or work as before."""
_MASK = re.compile(r"(?:^|[._])(?:mask|is_\w+|has_\w+)$|mask$")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.ClassDef)
_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params"}


@final
@dataclass(frozen=True)
class Edit:
    """Replacement of the bytes from `start` to `end` of a line."""

    operator: str
    line: int
    start: int
    end: int
    text: str


@final
@dataclass(frozen=True)
class Fault:
    """A line of a file and what replaces it.

    Attributes:
        path: File, relative to the repository.
        line: Its number, from 1.
        function: Qualified name of the function.
        operator: Name of the mutation operator.
        before: The line.
        after: The line that replaces it.
        first: First line of the statement, or of its header.
        last: Last line of them.
    """

    path: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    first: int
    last: int

    def apply(self, source: str) -> str:
        """Return the source with the fault; raises ValueError if the line has changed since."""
        lines = source.split("\n")
        if lines[self.line - 1] != self.before:
            raise ValueError(f"{self.path}:{self.line} must be {self.before!r}, got {lines[self.line - 1]!r}")
        return "\n".join([*lines[: self.line - 1], self.after, *lines[self.line :]])

    def key(self) -> str:
        """Return the fault as JSON, which identifies it."""
        return json.dumps(asdict(self), sort_keys=True)


def draw(root: Path, count: int, seed: int) -> list[Fault]:
    """Draw distinct faults: a package, one of its functions, one of the function's faults, uniformly each."""
    choice = random.Random(seed)
    functions = {package: _package_functions(root, package) for package in PACKAGES}
    packages = [package for package in PACKAGES if functions[package]]
    drawn: dict[str, Fault] = {}
    for _ in range(100 * count):  # some functions have no fault
        path, source, name, function = choice.choice(functions[choice.choice(packages)])
        candidates = list(_candidates(path, source, name, function))
        choice.shuffle(candidates)
        fault = next((fault for fault in candidates if _compiles(fault.apply(source))), None)
        if fault:
            drawn.setdefault(fault.key(), fault)
        if len(drawn) == count:
            break
    return list(drawn.values())


@cache
def _package_functions(root: Path, package: str) -> list[tuple[str, str, str, ast.AST]]:
    """Functions of a package: path and source of the file, qualified name, syntax tree."""
    paths = sorted((root / "sumpool" / package).rglob("*.py"))
    sources = [(path.relative_to(root).as_posix(), path.read_text("utf-8")) for path in paths]
    return [(path, source, *function) for path, source in sources for function in _functions(ast.parse(source))]


def file_faults(path: str, source: str) -> list[Fault]:
    """List the possible faults of a file."""
    functions = _functions(ast.parse(source))
    faults = [fault for function in functions for fault in _candidates(path, source, *function)]
    return [fault for fault in faults if _compiles(fault.apply(source))]


def _candidates(path: str, source: str, name: str, function: ast.AST) -> Iterable[Fault]:
    """Changes of the lines of a function, each line that results once; few of them do not compile."""
    lines = source.split("\n")
    faults: dict[tuple[int, str], Fault] = {}
    for node, first, last in _nodes(function, 0, 0):
        for edit in _edits(node, lines):
            before = lines[edit.line - 1]
            content = before.encode()
            after = (content[: edit.start] + edit.text.encode() + content[edit.end :]).decode()
            fault = Fault(path, edit.line, name, edit.operator, before, after, first, last)
            if after != before:
                faults.setdefault((edit.line, after), fault)
    return faults.values()


def _compiles(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(source, "fault", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _functions(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions and methods with their qualified names; nested functions belong to their function."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, _FUNCTIONS) and node.name != "__repr__":
            yield prefix + node.name, node


def _nodes(node: ast.AST, first: int, last: int) -> Iterator[tuple[ast.AST, int, int]]:
    """Nodes that may be changed below a node, each with the lines of its statement or of the statement's header."""
    for field, value in ast.iter_fields(node):
        if field in _SKIPPED_FIELDS or (field == "args" and isinstance(node, (*_FUNCTIONS, ast.Lambda))):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, _SKIPPED):
                continue
            lines = _header(child) if isinstance(child, ast.stmt) else (first, last)
            yield child, *lines
            yield from _nodes(child, *lines)


def _header(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None) or [
        case.pattern for case in getattr(statement, "cases", []) if case.pattern.lineno > statement.lineno
    ]
    end = statement.end_lineno or statement.lineno
    return statement.lineno, max(statement.lineno, body[0].lineno - 1) if body else end


def _edits(node: ast.AST, lines: list[str]) -> Iterator[Edit]:
    """Edits of a node itself. Of several with equal results the first counts, so that the more specific come first."""
    yield from _operator_edits(node, lines)
    match node:
        case ast.Call():
            yield from _call_edits(node, lines)
        case ast.AugAssign(op=ast.BitAnd()):
            yield from _replace("dropped mask", node, "pass")
        case ast.If():
            yield from _replace("condition always true", node.test, "True")
        case ast.Await():
            yield from _replace("missing await", node, _operand(node.value, lines))
        case ast.Slice():
            yield from _bound_edits(node.lower, "+", lines)
            yield from _bound_edits(node.upper, "-", lines)
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield from _replace("off by one", node, str(value + 1))
        case ast.Expr(value=ast.Call(func=function)) if not ast.unparse(function).startswith("super()"):
            yield from _replace("dropped call", node, "pass")


def _operator_edits(node: ast.AST, lines: list[str]) -> Iterator[Edit]:
    """Edits of arithmetic, comparisons and conditions."""
    match node:
        case ast.BinOp():
            yield from _mask_edits(node, lines)
            if not any(_is_text(side) for side in (node.left, node.right)):
                yield from _token("flipped sign", node.left, node.right, lines, _SIGNS)
        case ast.AugAssign() if not _is_text(node.value):
            yield from _token("flipped sign", node.target, node.value, lines, _SIGNS)
        case ast.UnaryOp(op=ast.USub()):
            yield from _replace("flipped sign", node, _operand(node.operand, lines))
        case ast.UnaryOp(op=ast.Not() | ast.Invert()):
            yield from _replace("lost negation", node, _operand(node.operand, lines))
        case ast.Compare():
            for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                yield from _token("comparison", left, right, lines, _COMPARISONS)
        case ast.BoolOp():
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from _token("and/or", left, right, lines, _BOOLEANS)


def _call_edits(call: ast.Call, lines: list[str]) -> Iterator[Edit]:
    name = ast.unparse(call.func).rpartition(".")[2]
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    arguments = call.args
    yield from _axis_edits(call, name)
    if name in {"masked_fill", "masked_fill_"} and owner:
        yield from _cut("dropped mask", owner, call)
    if name == "where" and len(arguments) >= 2:
        yield from _replace("dropped mask", call, _text(arguments[1] if len(arguments) == 3 else owner, lines))
    if name in _LOST_METHODS and owner and not (name in _LOST_FUNCTIONS and arguments):
        yield from _cut("lost method", owner, call)
    if name in _LOST_FUNCTIONS and len(arguments) == 1:
        yield from _replace("lost function", call, _text(arguments[0], lines))
    if name in _EXTREMA and call.func.end_lineno:
        end = call.func.end_col_offset or 0
        yield Edit("min/max", call.func.end_lineno, end - len(name), end, _EXTREMA[name])
    if name == "range" and arguments:
        yield from _bound_edits(arguments[min(1, len(arguments) - 1)], "-", lines)
    if len(arguments) >= 2 and name not in _SYMMETRIC | _TYPED:
        yield from _swap(arguments[0], arguments[1], lines)


def _axis_edits(call: ast.Call, name: str) -> Iterator[Edit]:
    axes = [keyword.value for keyword in call.keywords if keyword.arg in {"dim", "axis"}]
    if name in _AXIS_FIRST:
        axes += call.args[:2]
    for axis in axes:
        try:
            value = ast.literal_eval(axis)
        except ValueError:
            continue
        if type(value) is int:
            other = {0: 1, -1: -2}.get(value, value - 1 if value > 0 else value + 1)
            yield from _replace("wrong axis", axis, str(other))
            return


def _mask_edits(node: ast.BinOp, lines: list[str]) -> Iterator[Edit]:
    """Edits that drop the second operand of `&`, or the operand of `*` that is a mask."""
    left, right = node.left, node.right
    if isinstance(node.op, ast.BitAnd) or (isinstance(node.op, ast.Mult) and _MASK.search(ast.unparse(right))):
        yield from _replace("dropped mask", node, _operand(left, lines))
    elif isinstance(node.op, ast.Mult) and _MASK.search(ast.unparse(left)):
        yield from _replace("dropped mask", node, _operand(right, lines))


def _bound_edits(bound: ast.expr | None, sign: str, lines: list[str]) -> Iterator[Edit]:
    """Edits that move a bound by one; constants have edits of their own."""
    if isinstance(bound, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        yield from _replace("off by one", bound, f"{_text(bound, lines)} {sign} 1")


def _replace(operator: str, node: ast.expr | ast.stmt, text: str) -> Iterator[Edit]:
    if node.lineno == node.end_lineno and text:
        yield Edit(operator, node.lineno, node.col_offset, node.end_col_offset or 0, text)


def _cut(operator: str, kept: ast.expr, node: ast.expr) -> Iterator[Edit]:
    """An edit that drops what follows a part of a node."""
    if kept.end_lineno == node.end_lineno and kept.end_lineno:
        yield Edit(operator, kept.end_lineno, kept.end_col_offset or 0, node.end_col_offset or 0, "")


def _swap(left: ast.expr, right: ast.expr, lines: list[str]) -> Iterator[Edit]:
    texts = _text(left, lines), _text(right, lines)
    is_likely = type(left) is type(right) and not isinstance(left, ast.Starred | ast.Constant)
    if is_likely and all(texts) and left.lineno == right.end_lineno:
        between = lines[left.lineno - 1].encode()[left.end_col_offset : right.col_offset].decode()
        text = texts[1] + between + texts[0]
        yield Edit("swapped arguments", left.lineno, left.col_offset, right.end_col_offset or 0, text)


def _token(operator: str, left: ast.expr, right: ast.expr, lines: list[str], others: dict[str, str]) -> Iterator[Edit]:
    """An edit of the token between two operands, which parentheses may surround."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    gap = lines[right.lineno - 1].encode()[left.end_col_offset : right.col_offset].decode()
    found = re.search(r"[^\s()]+(?: (?:in|not)\b)?", gap)
    if found and found.group() in others:
        start = left.end_col_offset + found.start()
        yield Edit(operator, right.lineno, start, start + len(found.group()), others[found.group()])


def _text(node: ast.AST | None, lines: list[str]) -> str:
    """The text of a node on one line, else nothing."""
    if not isinstance(node, ast.expr) or node.lineno != node.end_lineno:
        return ""
    return lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()


def _operand(node: ast.expr, lines: list[str]) -> str:
    """The text of a node that takes the place of an expression."""
    text = _text(node, lines)
    compound = ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.NamedExpr | ast.Lambda
    return f"({text})" if text and isinstance(node, compound) else text


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
