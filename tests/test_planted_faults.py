"""Faults are changes of one line that compile, and the tests that find them are named."""

import sys
from pathlib import Path

import pytest

from tests.planted_faults.__main__ import run_tests
from tests.planted_faults.faults import Fault, draw, file_faults

ROOT = Path(__file__).parents[1]


def lines_after(statement: str) -> set[tuple[str, str]]:
    """Operators and results of the faults of a statement in a function."""
    faults = file_faults("a.py", f"async def f(x):\n    {statement}\n")
    return {(fault.operator, fault.after.strip()) for fault in faults}


@pytest.mark.parametrize(
    ("statement", "operator", "after"),
    [
        ("return a + b", "flipped sign", "return a - b"),
        ("return (a) - (b)", "flipped sign", "return (a) + (b)"),
        ("a -= b", "flipped sign", "a += b"),
        ("return -(a + b)", "flipped sign", "return (a + b)"),
        ("return x[3]", "off by one", "return x[4]"),
        ("return x[: a.b]", "off by one", "return x[: a.b - 1]"),
        ("return x[f(a) :]", "off by one", "return x[f(a) + 1 :]"),
        ("return range(a, b)", "off by one", "return range(a, b - 1)"),
        ("return x.masked_fill(~m, 0.0).sum()", "dropped mask", "return x.sum()"),
        ("x.masked_fill_(m, 0.0)", "dropped mask", "x"),
        ("return a & ~finished", "dropped mask", "return a"),
        ("a &= b", "dropped mask", "pass"),
        ("return (a + b) * mask[:, None].is_real", "dropped mask", "return (a + b)"),
        ("return torch.where(m, a, b)", "dropped mask", "return a"),
        ("return a.where(m, b)", "dropped mask", "return a"),
        ("return x.sum(1)", "wrong axis", "return x.sum(0)"),
        ("return torch.cat([a, b], dim=-1)", "wrong axis", "return torch.cat([a, b], dim=-2)"),
        ("return torch.cat([a, b], 0)", "wrong axis", "return torch.cat([a, b], 1)"),
        ("return f(a, b, c)", "swapped arguments", "return f(b, a, c)"),
        ("await f(a)", "missing await", "f(a)"),
        ("file.flush()", "dropped call", "pass"),
        ("return a < b", "comparison", "return a <= b"),
        ("return a is not None", "comparison", "return a is None"),
        ("return a not in b", "comparison", "return a in b"),
        ("return x.square().sum().sqrt()", "lost method", "return x.square().sum()"),
        ("return self.dropout(x)", "lost function", "return x"),
        ("return a and b or c", "and/or", "return a and b and c"),
        ("return a and not (b or c)", "lost negation", "return a and (b or c)"),
        ("return ~mask", "lost negation", "return mask"),
        ("return max(a, b)", "min/max", "return min(a, b)"),
        ("return x.amin(1)", "min/max", "return x.amax(1)"),
        ("if a == b: return c", "condition always true", "if True: return c"),
        ("return 'ä' if é + b else c", "flipped sign", "return 'ä' if é - b else c"),
    ],
)
def test_operator(statement: str, operator: str, after: str) -> None:
    assert (operator, after) in lines_after(statement)


def test_what_would_not_change_a_result_is_left_alone() -> None:
    for statement in (
        '"""Return a + 1."""',
        "raise ValueError(f'a must be {1}, got {a - b}')",
        "assert a < b, a + b",
        "a: Literal[1] = b",
        "return a.contiguous().detach()",
        "return f'{a + 1}'",
        "return a + 'text'",
        "return isinstance(a, b), torch.maximum(a, a)",
        "return f(None, a), g(a, *b)",
        "return (\n        f(a)\n        .masked_fill(\n            m,\n            n))",
    ):
        assert not lines_after(statement) - {("min/max", "return isinstance(a, b), torch.minimum(a, a)")}, statement


@pytest.mark.slow
def test_drawn_faults_change_one_line_and_compile() -> None:
    faults = draw(ROOT, 300, 1)
    assert len({fault.key() for fault in faults}) == 300
    assert draw(ROOT, 300, 1) == faults
    for fault in faults:
        before = (ROOT / fault.path).read_bytes().decode()
        after = fault.apply(before)
        compile(after, fault.path, "exec")
        pairs = list(zip(before.split("\n"), after.split("\n"), strict=True))
        assert [number for number, (old, new) in enumerate(pairs, 1) if old != new] == [fault.line]
        assert fault.first <= fault.line <= fault.last


def test_a_line_that_has_changed_is_refused() -> None:
    fault = Fault("a.py", 1, "f", "comparison", "a < b", "a <= b", 1, 1)
    with pytest.raises(ValueError, match=r"a\.py:1 must be 'a < b', got 'a > b'"):
        fault.apply("a > b")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_the_first_test_that_fails_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "test_a.py").write_text("def test_passes(): ...\ndef test_fails(): raise ValueError\n")
    assert run_tests(folder, ["test_a.py"]) == "test_a.py::test_fails"
    assert run_tests(folder, ["test_a.py", "--deselect=test_a.py::test_fails"]) == ""
    spaced = "@pytest.mark.parametrize('x', ['a b - c'])\ndef test_spaces(x): raise ValueError('d] - e')\n"
    (folder / "test_b.py").write_text(f"import pytest\n{spaced}")
    assert run_tests(folder, ["test_b.py"]) == "test_b.py::test_spaces[a b - c]"
    (folder / "test_b.py").write_text("import os, subprocess\ndef test_waits(): subprocess.run(['sleep', '100'])\n")
    assert run_tests(folder, ["test_b.py"], limit=3) == "timeout"
    (folder / "test_b.py").write_text("import os\ndef test_dies(): os.abort()\n")
    assert run_tests(folder, ["test_b.py"]) == "exit code -6"
    (folder / "test_b.py").write_text("import nothing_of_that_name\n")
    assert run_tests(folder, ["test_b.py"]) == "test_b.py"
