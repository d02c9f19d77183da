import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from sumpool.bench.measures import Timing
from sumpool.bench.results import (
    Column,
    Result,
    Row,
    Table,
    require_benchmark,
    significant,
    to_csv,
    to_latex,
    unique,
    where,
    write_report,
)
from sumpool.errors import RecipeError
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.io.replaceable import require_writable
from tests.bench.test_models import REPORT

ROWS = [
    Row({"length": 16, "system": "a", "bytes": 2**21}, Timing((0.5, 1.0, 0.75))),
    Row({"length": 16, "system": "b", "bytes": None}, note="out of memory"),
    Row({"length": 1024, "system": "a", "bytes": 2**20}),
]


def test_digits_that_count() -> None:
    for value, text in (
        (0, "0"),
        (0.012345, "0.0123"),
        (0.5, "0.500"),
        (9.999, "10.00"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12345.6, "12,346"),
    ):
        assert significant(value) == text


def test_a_column_writes_values() -> None:
    for column, texts in (
        (Column("tokens", "length", ","), ["16", "16", "1,024"]),
        (Column("MiB", "bytes", ".1f", "MiB"), ["2.0", "-", "1.0"]),
        (Column("ms", "median", ".0f", "ms"), ["750", "-", "-"]),
        (Column("spread", "spread", "spread"), ["2.00?", "-", "-"]),
        (Column("share", "fastest", "percent"), ["50 %", "-", "-"]),
        (Column("share", "fastest", "tenths"), ["50.0 %", "-", "-"]),
    ):
        assert [column.cell(row) for row in ROWS] == texts
    assert Column("", "lengths", "runs").cell(Row({"lengths": (8192, 8192, 512)})) == "2 x 8,192, 512"


def test_rows_are_found_by_values_and_written_as_json() -> None:
    assert where(ROWS, {"length": 16, "system": "b"}) == [ROWS[1]]
    assert unique(ROWS, "length") == [16, 1024]
    assert ROWS[0].to_json() == {"length": 16, "system": "a", "bytes": 2**21, "seconds": (0.5, 1.0, 0.75)}
    assert ROWS[1].to_json() == {"length": 16, "system": "b", "bytes": None, "note": "out of memory"}


TABLE = Table(
    "errors & more",
    [Column("name", "name"), Column("of", "exact"), Column("512", "error", ".2f")],
    [Row({"name": "=cmd", "exact": "a_b", "error": -0.125}), Row({"name": "mean", "exact": "100 %"})],
    ["50 % of it"],
    keys=2,
)


def test_csv_has_unrounded_numbers_and_no_formula_and_latex_is_escaped() -> None:
    lines = [*csv.reader(io.StringIO(to_csv([TABLE, TABLE])))]
    assert lines[:4] == [["errors & more"], ["name", "of", "512"], ["'=cmd", "a_b", "-0.125"], ["mean", "100 %", ""]]
    assert lines[4] == []
    assert lines[5:] == lines[:4]
    latex = to_latex([TABLE]).splitlines()
    assert latex[:2] == [r"% errors \& more", r"% 50 \% of it"]
    assert latex[2] == r"\begin{tabular}{llr}"
    assert latex[4] == r"name & of & 512 \\"
    assert latex[6:8] == [r"=cmd & a\_b & -0.12 \\", r"mean & 100 \% & - \\"]
    assert latex[-1] == r"\end{tabular}"


def test_files_are_written(tmp_path: Path) -> None:
    files = {"--csv": tmp_path / "t.csv", "--latex": tmp_path / "t.tex"}
    require_writable(files)
    write_report(replace(REPORT, result=Result({}, [TABLE])), files)
    assert (tmp_path / "t.csv").read_bytes().decode() == to_csv([TABLE])
    assert (tmp_path / "t.tex").read_text() == to_latex([TABLE])
    write_report(REPORT, {"--csv": None, "--latex": None})
    with pytest.raises(RecipeError, match="--csv must name a file in a folder that is there, got "):
        require_writable({"--csv": tmp_path})
    Manifest({"t.csv": FileDigest.of(tmp_path / "t.csv")}).write(tmp_path)
    with pytest.raises(RecipeError, match=r"t\.csv must not be a file that .* lists"):
        require_writable({"--csv": tmp_path / "t.csv"})


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
    with pytest.raises(RecipeError, match="--out must name a file in a folder that is there, got "):
        require_benchmark(tmp_path)
