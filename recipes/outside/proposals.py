"""Proposals with an abstract, which is removed from the document.

    python recipes/outside/proposals.py OUT

Scheme Requests for Implementation (Debian's racket-doc), Python Enhancement Proposals of docutils (docutils-doc), and
enhancement proposals of NumPy and Matplotlib in their source distributions on PyPI. Each series is in one half.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from common import Row, download_debian, download_sdists, write_corpus
from overviews import to_row

DEBIAN = {
    "racket-doc": ("usr/share/doc/racket/srfi/srfi-std/**/*.html", "MIT"),
    "docutils-doc": ("usr/share/doc/docutils-doc/docs/peps/*.html", "public domain"),
}
"""Files and licence of the proposals in packages of Debian 12."""
SDISTS = {
    "numpy==1.24.4": ("doc/neps/nep-0*.rst", "public domain, BSD-3-Clause"),
    "matplotlib==3.3.4": ("doc/devel/MEP/MEP*.rst", "PSF-based"),
}
"""Files and licence of the proposals in source distributions."""
PER_PACKAGE = 60


def rows(packages: dict[str, Path], cache: Path) -> Iterator[Row]:
    """Yield the proposals with an abstract."""
    for name, folder in packages.items():
        pattern, licence = (DEBIAN | SDISTS)[name]
        for page in sorted(folder.glob(pattern)):
            if row := to_row(page.relative_to(folder), folder, name.split("==")[0], licence, cache):
                yield row


def main(out: Path) -> None:
    """Download the packages and write the corpus."""
    packages = download_debian([*DEBIAN], out / "packages") | download_sdists([*SDISTS], out / "packages")
    write_corpus(out / "proposals", rows(packages, out / "cache"), per_package=PER_PACKAGE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
