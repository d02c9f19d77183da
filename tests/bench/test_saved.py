import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sumpool.bench.measures import Timing
from sumpool.bench.models import model_result
from sumpool.bench.results import SCHEMA, BenchReport, Row
from sumpool.bench.saved import RunComparison, compare_reports, load_saved, require_benchmark
from sumpool.errors import DataError, RecipeError
from tests.bench.test_models import REPORT


@pytest.fixture
def tree() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(REPORT.to_json())
    return tree


def write(path: Path, tree: object) -> Path:
    path.write_text(json.dumps(tree))
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text(REPORT.to_json())
    assert [table.cells() for table in load_saved(path).tables()] == [table.cells() for table in REPORT.tables()]
    assert json.loads(load_saved(path).to_json()) == json.loads(REPORT.to_json())


def drop(*path: str | int) -> Callable[[dict[str, Any]], object]:
    def change(tree: Any) -> object:  # noqa: ANN401 - any JSON
        for name in path[:-1]:
            tree = tree[name]
        return tree.pop(path[-1])

    return change


def put(value: object, *path: str | int) -> Callable[[dict[str, Any]], object]:
    def change(tree: Any) -> object:  # noqa: ANN401 - any JSON
        for name in path[:-1]:
            tree = tree[name]
        tree[path[-1]] = value
        return None

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(SCHEMA + 1, "schema"), "but schema must be 3, got"),
        (put(2, "schema"), "but schema must be 3, got 2"),
        (drop("schema"), "but schema must be there, got nothing"),
        (
            put("operators", "suite"),
            "must be a benchmark of a model that --out wrote, but suite must be .*, got 'operators'",
        ),
        (drop("models"), "but models must be there, got nothing"),
        (drop("machine", "cores"), "but machine.cores must be there, got nothing"),
        (put("quick", "models", 0, "seconds"), "but models.0.seconds must be a list, got 'quick'"),
        (put([], "models", 0, "seconds"), r"but models.0.seconds must be a list with at least 1 entries, got \[\]"),
        (put([0.0], "models", 0, "seconds"), "but models.0.seconds.0 must be above 0.0, got 0.0"),
        (
            put(["Infinity"], "machine_speed", 0, "seconds"),
            "but machine_speed.0.seconds.0 must be below inf, got",
        ),
        (drop("settings", "vocabulary"), "but settings.vocabulary must be there"),
        (drop("settings", "bench", "beams"), "but settings.bench.beams must be there"),
    ],
)
def test_what_is_damaged_is_said(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path, tree: dict[str, Any]
) -> None:
    change(tree)
    path = write(tmp_path / "bad.json", tree)
    with pytest.raises(DataError, match=message) as raised:
        load_saved(path)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_what_is_no_benchmark_is_said(tmp_path: Path) -> None:
    for text in ("", "[]", "{", "nonsense", "[" * 100_000, "\x00", '{"suite": "model"}'):
        path = tmp_path / "bad.json"
        path.write_text(text)
        with pytest.raises(DataError, match="must be a benchmark of a model that --out wrote"):
            load_saved(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be a benchmark that --out wrote, got: No such file"):
        load_saved(tmp_path / "none.json")


def test_a_file_without_end_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.bench.saved.LARGEST", 2**20)
    path = tmp_path / "large.json"
    path.write_bytes(b" " * (2**20 + 1))
    with pytest.raises(DataError, match="must be a benchmark that --out wrote, got: more than 1,048,576 bytes"):
        load_saved(path)


def test_benchmarks_are_replaced_and_other_files_are_not(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    require_benchmark(path)
    path.write_text(REPORT.to_json())
    require_benchmark(path)
    require_benchmark(Path("/dev/null"))
    for text in ("", "{}", "[1]", '{"schema": 2, "files": {}}'):
        path.write_text(text)
        with pytest.raises(RecipeError, match="must be new or a benchmark that --out wrote, got another file: name"):
            require_benchmark(path)
        assert path.read_text() == text
    with pytest.raises(RecipeError, match="must be a file to write, got a folder: name a file in it with --out"):
        require_benchmark(tmp_path)


SETTINGS = {"bench": {"batch": 1, "lengths": (16,)}, "model": {"dim": 8, "encoder": [{"block": 4}]}, "vocabulary": 40}
STEADY = (1.0, 1.01, 0.99, 1.02, 0.98)


def row(factor: float = 1.0, model: str = "model", memory: int | None = 2**20, operations: int = 10**9) -> Row:
    labels = {"workload": "encode", "model": model, "length": 16, "batch": 1, "precision": "fp32"}
    timing = Timing(tuple(factor * seconds for seconds in STEADY))
    return Row({**labels, "memory": memory, "operations": operations}, timing)


def report(*rows: Row, speeds: tuple[Row, ...] = ()) -> BenchReport:
    return replace(REPORT, settings=SETTINGS, result=model_result(rows, speeds, 2, 2))


def lines(comparison: RunComparison) -> list[tuple[str, ...]]:
    (table,) = comparison.tables()
    return table.cells()


def notes(comparison: RunComparison) -> Sequence[str]:
    (table,) = comparison.tables()
    return table.notes


def test_a_row_says_what_changed() -> None:
    for factor, ratio, verdict in ((1.0, "1.00", "no change"), (1.3, "1.30", "slower"), (0.5, "0.50", "faster")):
        ((work, model, tokens, before, _, found, between, said, memory, operations),) = lines(
            compare_reports(report(row()), report(row(factor)))
        )
        assert (work, model, tokens, before) == ("encode", "model", "16", "1.00")
        assert (found, said) == (ratio, verdict)
        low, high = map(float, between.split(" to "))
        assert low <= float(ratio) <= high
        assert (memory, operations) == ("1.00", "1.00")


def test_memory_and_operations_that_changed() -> None:
    now = row(memory=3 * 2**20, operations=5 * 10**8)
    ((*_, memory, operations),) = lines(compare_reports(report(row()), report(now)))
    assert (memory, operations) == ("1.00 to 3.00", "1.00 to 0.500")
    ((*_, memory, _),) = lines(compare_reports(report(row()), report(row(memory=None))))
    assert memory == "-"


def test_few_repetitions_tell_nothing() -> None:
    few = replace(row(), timing=Timing((1.0, 1.0, 1.0)))
    ((*_, between, said, _, _),) = lines(compare_reports(report(few), report(few)))
    assert (between, said) == ("-", "too few repetitions")


def test_rows_of_one_of_them() -> None:
    left_out = Row({"workload": "encode", "model": "vanilla", "length": 16, "batch": 1}, note="out of memory")
    old, new = report(row(), row(model="blockwise"), left_out), report(row(), row(model="vanilla"))
    found = compare_reports(old, new)
    assert (found.gone, found.new) == (("encode blockwise at 16 tokens",), ("encode vanilla at 16 tokens",))
    assert notes(found)[:2] == ["gone: encode blockwise at 16 tokens", "new: encode vanilla at 16 tokens"]


def test_the_machine_itself_stands_first() -> None:
    def speeds(factor: float, amount: int = 100) -> tuple[Row, ...]:
        seconds = tuple(factor * second for second in STEADY)
        labels = {"rate": "memory read", "length": 16, "amount": amount}
        return (Row(labels, Timing(seconds[:2])), Row(labels, Timing(seconds[2:])))

    slower = compare_reports(report(row(), speeds=speeds(1)), report(row(), speeds=speeds(1.5)))
    assert lines(slower)[0][:3] == ("memory read", "", "-")
    assert lines(slower)[0][5] == "1.50"
    assert notes(slower)[-1] == "the machine itself changed: no row can tell a change below its own"
    same = compare_reports(report(row(), speeds=speeds(1)), report(row(), speeds=speeds(1)))
    assert "machine" not in notes(same)[-1]
    other = compare_reports(report(row(), speeds=speeds(1)), report(row(), speeds=speeds(1, amount=200)))
    assert len(lines(other)) == 1


def test_what_else_is_different_stands_below() -> None:
    old = report(row())
    settings = {
        "bench": {"batch": 8, "lengths": (32,), "new": 1},
        "model": {"dim": 8, "encoder": [{"block": 2}]},
        "vocabulary": 40,
    }
    new = replace(
        report(row().also({"precision": "int8"})),
        machine=replace(REPORT.machine, processor="another"),
        versions={**REPORT.versions, "torch": "9", "transformers": "5"},
        settings=settings,
    )
    found = compare_reports(old, new)
    assert found.differences == (
        f"machine.processor was {REPORT.machine.processor}, is another",
        f"versions.torch was {REPORT.versions['torch']}, is 9",
        "precision.encode was fp32, is int8",
        "bench.batch was 1, is 8",
        "model.encoder[0].block was 4, is 2",
    )
    assert notes(found)[0] == f"different: {found.differences[0]}"
    assert compare_reports(old, old).differences == ()


def test_a_long_list_of_differences_is_cut() -> None:
    many = {"bench": {str(place): place for place in range(20)}, "model": {}, "vocabulary": 1}
    others = {"bench": {str(place): -1 for place in range(20)}, "model": {}, "vocabulary": 1}
    found = compare_reports(replace(report(row()), settings=many), replace(report(row()), settings=others))
    assert len(found.differences) == 20
    assert notes(found)[8] == "different: 12 more"


def test_json() -> None:
    found = json.loads(compare_reports(report(row()), report(row(2.0))).to_json())
    assert found["changes"][0]["ratio"] == 2.0
