import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sumpool.bench.models import saved
from sumpool.bench.models.saved import load_saved
from sumpool.bench.results.result import SCHEMA
from sumpool.errors import DataError
from tests.bench.models.test_rows import REPORT


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
    assert load_saved(path) == REPORT
    assert load_saved(path).to_json() == REPORT.to_json()


def test_the_first_files_said_nothing_of_their_schema(tmp_path: Path, tree: dict[str, Any]) -> None:
    for name in ("schema", "steps", "rates", "seconds"):
        del tree[name]
    for row in tree["models"]:
        for name in ("precision", "weights", "layout", "share"):
            del row[name]
    found = load_saved(write(tmp_path / "old.json", tree))
    assert len(found.tables()) > 1


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
        (put(SCHEMA + 1, "schema"), "must be of schema 2 at most, got 3; a newer sumpool wrote it"),
        (put(0, "schema"), "got schema: Input should be greater than or equal to 1"),
        (put("operators", "suite"), "must be a benchmark of a model that --out wrote, got suite: Input should be"),
        (drop("models"), "got models: Field required"),
        (drop("machine", "cores"), "got machine.cores: Field required"),
        (put("quick", "models", 0, "timing", "seconds"), "got models.0.timing.seconds: Input should be"),
        (put([], "models", 0, "timing", "seconds"), "must hold seconds above 0, got others; measure again"),
        (put([0.0], "models", 0, "timing", "seconds"), "must hold seconds above 0, got others"),
        (put(["Infinity"], "rates", 0, "timing", "seconds"), "must hold seconds above 0, got others"),
        (drop("settings", "vocabulary"), "must hold settings of bench, model and vocabulary, got none of vocabulary"),
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


@pytest.mark.parametrize("text", ["", "[]", "{", "nonsense", "[" * 100_000, "\x00", '{"suite": "model"}'])
def test_what_is_no_benchmark_is_said(text: str, tmp_path: Path) -> None:
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
    with pytest.raises(DataError, match="must be a benchmark that --out wrote, got more than 1 MiB"):
        load_saved(path)
