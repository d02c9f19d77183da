"""Papers, reports and guides with an abstract, from the documentation of TeX Live and of scientific software.

    python recipes/outside/papers.py OUT

PDF files of `PACKAGES` (Debian 12). Abstract: 40 to 300 words; body: at least 1,000. Samples of document classes
are left out by name. The packages of TeX Live hold those of CTAN, which are the packages of this corpus.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from abstracts import has_abstract, is_paper, split_abstract
from common import Row, debian_licence, download_debian, parse, to_markdown, write_corpus

PER_PACKAGE = 4
MAX_PAGES = 60
"""Pages of a file; longer ones are reference manuals."""
PACKAGES = (
    "abinit-doc",
    "cvs",
    "dynare-doc",
    "graphviz-doc",
    "libatlas-doc",
    "libcdd-doc",
    "libsuitesparse-doc",
    "music-doc",
    "simbody-doc",
    "texlive-humanities-doc",
    "texlive-latex-base-doc",
    "texlive-latex-recommended-doc",
    "texlive-luatex",
    "texlive-metapost-doc",
    "texlive-pictures-doc",
    "texlive-publishers-doc",
    "texlive-science-doc",
    "texlive-xetex",
    "velvet",
)
TEX_LIVE_LICENCES = "LPPL, GPL or another free licence of the CTAN package"
_SAMPLE = re.compile(
    r"template|sample|thesis|test|diss|examples?/|proposal|poster|elsarticle|demo|/report-|article\.pdf|miniplot",
    re.IGNORECASE,
)
"""Part of the path of a sample of a document class or a bibliography style, or of a file of hidden numbers."""


def main(out: Path) -> None:
    """Download the packages and write the corpus."""
    folders = download_debian(PACKAGES, out / "packages")
    rows = (row for name, folder in folders.items() for row in package_rows(name, folder, out / "cache"))
    write_corpus(out / "papers", rows, per_package=PER_PACKAGE)


def package_rows(package: str, folder: Path, cache: Path) -> Iterator[Row]:
    """Yield the documents of a package that have an abstract."""
    licence = TEX_LIVE_LICENCES if package.startswith("texlive-") else debian_licence(folder, package)
    documentation = folder / "usr/share/doc"
    for file in sorted({*documentation.rglob("*.pdf"), *documentation.rglob("*.pdf.gz")}):
        name = str(file.relative_to(documentation))
        if file.is_symlink() or _SAMPLE.search(name) or not has_abstract(file, MAX_PAGES):
            continue
        document = parse(file, cache)
        abstract, body = split_abstract(document.blocks)
        if is_paper(abstract, body):
            origin = f"{package}/{part_of_tex_live(name)}".rstrip("/")
            yield Row(f"{package}/{name}", document.title, to_markdown(body), abstract, origin, licence)


def part_of_tex_live(name: str) -> str:
    """Return the CTAN package of a path in `texlive-doc`; empty for other paths."""
    parts = Path(name).parts
    return parts[2] if parts[0] == "texlive-doc" and len(parts) > 3 else ""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
