import csv
import io
from pathlib import Path

import pytest

from sumpool.bench.results.exports import require_writable, to_csv, to_latex, write_tables
from sumpool.bench.results.table import Column, Row, Table
from sumpool.errors import RecipeError

TABLE = Table(
    "errors & more",
    [Column("name", "name"), Column("of", "exact"), Column("512", "error", ".2f")],
    [Row({"name": "=cmd", "exact": "a_b", "error": -0.125}), Row({"name": "mean", "exact": "100 %"})],
    ["50 % of it"],
    keys=2,
)


def test_csv_has_unrounded_numbers_and_no_formula() -> None:
    lines = [*csv.reader(io.StringIO(to_csv([TABLE, TABLE])))]
    assert lines[:4] == [["errors & more"], ["name", "of", "512"], ["'=cmd", "a_b", "-0.125"], ["mean", "100 %", ""]]
    assert lines[4] == []
    assert lines[5:] == lines[:4]


def test_latex_is_escaped() -> None:
    lines = to_latex([TABLE]).splitlines()
    assert lines[:2] == [r"% errors \& more", r"% 50 \% of it"]
    assert lines[2] == r"\begin{tabular}{llr}"
    assert lines[4] == r"name & of & 512 \\"
    assert lines[6:8] == [r"=cmd & a\_b & -0.12 \\", r"mean & 100 \% & - \\"]
    assert lines[-1] == r"\end{tabular}"


def test_files_are_written(tmp_path: Path) -> None:
    files = {"--csv": tmp_path / "t.csv", "--latex": tmp_path / "t.tex"}
    require_writable(files)
    write_tables([TABLE], files)
    assert (tmp_path / "t.csv").read_bytes().decode() == to_csv([TABLE])
    assert (tmp_path / "t.tex").read_text() == to_latex([TABLE])
    write_tables([TABLE], {"--csv": None, "--latex": None})


def test_files_without_a_folder_are_refused(tmp_path: Path) -> None:
    for option in ("--csv", "--latex"):
        for path in (tmp_path / "nowhere" / "t.csv", tmp_path):
            with pytest.raises(RecipeError, match=f"{option} must name a file in a folder that is there, got "):
                require_writable({option: path})
