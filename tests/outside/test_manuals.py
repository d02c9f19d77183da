import gzip
from pathlib import Path

import manuals

DESCRIPTION = (
    "The frobnicate command reads measurements of the reservoirs from its files and writes a table of yearly means to "
    "standard output, so that the years can be compared with each other by other programs of the suite."
)
PAGE = f""".TH FROBNICATE 1
.SH NAME
frobnicate \\- average measurements
.SH DESCRIPTION
{DESCRIPTION}
.PP
{"It opens one file after another and closes it before the next one is read by the program. " * 60}
"""


def packages_with(folder: Path, page: str) -> dict[str, Path]:
    manual = folder / "demo/usr/share/man/man1/frobnicate.1.gz"
    manual.parent.mkdir(parents=True)
    manual.write_bytes(gzip.compress(page.encode()))
    return {"demo": folder / "demo"}


def test_the_first_paragraph_of_the_description_is_the_reference(tmp_path: Path) -> None:
    manuals.MIN_BYTES = 1
    (row,) = manuals.rows(packages_with(tmp_path, PAGE), tmp_path / "cache")
    assert (row.id, row.title, row.summary) == ("demo/frobnicate.1", "frobnicate", DESCRIPTION)
    assert "# DESCRIPTION\n\nIt opens" in row.document
    assert DESCRIPTION not in row.document


def test_a_description_that_begins_with_a_list_is_no_reference(tmp_path: Path) -> None:
    page = PAGE.replace(".SH DESCRIPTION\n", ".SH DESCRIPTION\n.IP a\n")
    assert not list(manuals.rows(packages_with(tmp_path, page), tmp_path / "cache"))
