import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sumpool.bench.models import saved
from sumpool.bench.models.saved import load_saved, require_benchmark
from sumpool.bench.results.report import SCHEMA
from sumpool.errors import DataError, RecipeError
from tests.bench.models.test_tables import REPORT


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
    monkeypatch.setattr(saved, "LARGEST", 2**20)
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
