import shutil
import subprocess
from pathlib import Path

import descriptions
import pytest

FIRST = "Frobnicate averages measurements of reservoirs and writes a table of yearly means. " * 4
CONTROL = f"""Package: demo
Version: 1.0
Architecture: all
Maintainer: Nobody <nobody@example.org>
Description: average measurements
 {FIRST.strip()}
 .
 Features:
  * fast
  * small
 .
 This package contains the Python 3 version.
"""
README = (
    "# Demo\n\n"
    + "The program opens the files with measurements of reservoirs and averages the years in a table. " * 40
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    if not shutil.which("dpkg-deb"):
        pytest.skip("needs dpkg")
    folder = tmp_path / "build"
    (folder / "DEBIAN").mkdir(parents=True)
    (folder / "DEBIAN/control").write_text(CONTROL)
    documents = folder / "usr/share/doc/demo"
    (documents / "examples").mkdir(parents=True)
    for name in ("README.md", "guide.html", "changelog.html", "examples/README.md", "README.Debian"):
        (documents / name).write_text(README)
    subprocess.run(["dpkg-deb", "--build", str(folder), str(tmp_path / "demo_1.0_all.deb")], check=True)
    folder.rename(tmp_path / "demo")
    return tmp_path / "demo"


def test_the_description_of_the_package_is_the_reference_of_its_readme(package: Path, tmp_path: Path) -> None:
    (row,) = descriptions.rows({"demo": package}, tmp_path / "cache")
    assert (row.id, row.summary) == ("demo/README.md", FIRST.strip())
    assert row.document.startswith("# Demo\n\nThe program opens")


def test_documents_about_something_else_are_skipped(package: Path) -> None:
    assert [path.name for path in descriptions.documents(package)] == ["README.md", "guide.html"]
