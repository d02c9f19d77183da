"""Faults are changes of one line that compile, and the tests that find them are named."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.planted_faults import __main__ as planted_faults
from tests.planted_faults.faults import Fault, draw, file_faults, manual_fault
from tests.planted_faults.suite import outcome, wait

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


@pytest.mark.parametrize(
    "statement",
    [
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
    ],
)
def test_what_would_not_change_a_result_is_left_alone(statement: str) -> None:
    assert not lines_after(statement) - {("min/max", "return isinstance(a, b), torch.minimum(a, a)")}


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


TOY = """\
def used(a: int, b: int) -> int:
    return a + b


def weakly(a: int) -> bool:
    return a < 10


def unused(a: int) -> int:
    return a + 1
"""
TESTS = """\
import subprocess
import sys

import pytest

from sumpool.core.toy import weakly


@pytest.fixture(scope="module")
def total(tmp_path_factory):
    command = [sys.executable, "-c", "from sumpool.core.toy import used; print(used(2, 3))"]
    return int(subprocess.check_output(command, cwd=tmp_path_factory.mktemp("elsewhere")))


def test_first(total):
    assert total


@pytest.mark.parametrize("number", ["a[b]", "c::d"])
def test_total(total, number):
    assert total == 5 or number == "a[b]"


def test_inside():
    assert weakly(3)


@pytest.mark.slow
def test_border():
    assert not weakly(10)
"""
SETTINGS = """\
[tool.pytest.ini_options]
markers = ["slow: slow"]
"""
CONFTEST = """\
def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("slow"):
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a package of a few functions, instead of this one."""
    root = tmp_path / "root"
    shutil.copytree(ROOT / "tests/planted_faults", root / "tests/planted_faults")
    for folder in ("sumpool/core", "tests/core"):
        (root / folder).mkdir(parents=True)
    (root / "sumpool/__init__.py").touch()
    (root / "sumpool/core/toy.py").write_text(TOY)
    (root / "tests/core/test_toy.py").write_text(TESTS)
    (root / "tests/conftest.py").write_text(CONFTEST)
    (root / "pyproject.toml").write_text(SETTINGS)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    monkeypatch.setattr(planted_faults, "ROOT", root)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # half the time
    return root


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str) -> list[dict[str, Any]]:
    """Run the program and return all results so far."""
    monkeypatch.setattr(sys, "argv", ["planted_faults", "--folder", str(folder), *options])
    assert planted_faults.main() == 0
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_faults_are_found_by_the_tests_that_notice_them(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A subprocess of a fixture executes the first fault. The last test of the fixture notices it."""
    lines = {"return a + b": "return a - b", "return a < 10": "return a <= 10", "return a + 1": "return a"}
    numbers = [[line.strip() for line in TOY.split("\n")].index(before) + 1 for before in lines]
    places = [f"sumpool/core/toy.py:{number}" for number in numbers]
    faults = [manual_fault(toy, place, after) for place, after in zip(places, lines.values(), strict=True)]
    monkeypatch.setattr(planted_faults, "draw", lambda *_: faults)
    results = run(monkeypatch, tmp_path / "faults")
    test = "tests/core/test_toy.py::test_"
    expected = [
        (1, "fast", "covering", f"{test}total[c::d]"),
        (2, "all", "neighbouring", f"{test}border"),
        (3, "not executed", "", "5 tests pass"),
    ]
    assert [(each["number"], each["found_by"], each["stage"], each["test"]) for each in results] == expected
    assert capsys.readouterr().out.endswith("\nfast 1 of 3, all 2 of 3\n")
    assert (toy / "sumpool/core/toy.py").read_text() == TOY

    (tmp_path / "faults/results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in results[:2]))
    again = run(monkeypatch, tmp_path / "faults", "--stages", "fast")
    assert [(each["number"], each["test"]) for each in again] == [
        *((each[0], each[3]) for each in expected[:2]),
        (3, "0 tests pass"),
    ]

    with (toy / "sumpool/core/toy.py").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(ValueError, match=r"toy\.py must be as it was when the tests were recorded: use --record"):
        run(monkeypatch, tmp_path / "faults", "--only", "3")


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_test_that_does_not_end_is_ended_and_named(tmp_path: Path) -> None:
    code = "import subprocess; subprocess.run(['sleep', '100'])"
    assert wait([sys.executable, "-c", code], tmp_path, dict(os.environ), 0.5, tmp_path / "output") is None
    run = outcome(None, [["started", "a"], ["teardown", "a", 1.0, []], ["started", "b"]])
    assert (run.failed, run.reason, *run.passed) == ("b", "timeout", "a")


@pytest.mark.parametrize(
    ("code", "events", "failed", "reason"),
    [
        (5, [], None, ""),
        (1, [["started", "a"], ["failed", "a", 0.1, []], ["teardown", "a", 0.1, []]], "a", "failed"),
        (2, [["failed", "tests/test_a.py"]], "tests/test_a.py", "failed"),
        (-11, [["started", "a"]], "a", "exit code -11"),
        (4, [], "pytest", "exit code 4"),
    ],
)
def test_outcome_of_a_run(code: int, events: list[list[object]], failed: str | None, reason: str) -> None:
    run = outcome(code, events)
    assert (run.failed, run.reason, *run.passed) == (failed, reason)


def test_a_fault_by_hand_must_be_in_a_function(toy: Path) -> None:
    fault = manual_fault(toy, "sumpool/core/toy.py:6", "return True")
    assert (fault.function, fault.after) == ("weakly", "    return True")
    with pytest.raises(ValueError, match=r"toy\.py:1 must be in a function, got 'def used"):
        manual_fault(toy, "sumpool/core/toy.py:1", "def used():")
