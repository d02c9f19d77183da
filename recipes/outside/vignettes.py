"""Vignettes of R packages that have an abstract: articles of journals, manuals and introductions.

    python recipes/outside/vignettes.py OUT

PDF files and R Markdown of `PACKAGES` (Debian 12). Abstract: 40 to 300 words; body: at least 1,000.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from abstracts import has_abstract, is_paper, split_abstract, tidy_abstract
from common import Row, debian_licence, download_debian, parse, to_markdown, write_corpus

from sumpool.documents.document import DEFAULT_OPTIONS, TextBlock
from sumpool.documents.formats import load_format
from sumpool.documents.sections import cut_back_matter

PER_PACKAGE = 6
BIOC = """
    biocstyle cner deseq deseq2 dexseq dss gsva purecn
"""
CRAN = """
    aer bms bradleyterry2 bridgesampling brms clue coin colorspace ctmcd dbscan desolve dimred elliptic erm evd
    filehash fitdistrplus flexmix forecast formula gmm gstat gsubfn huge hypergeo iso kernlab kohonen laeken lme4
    logcondens magic markovchain metafor mixtools mlmrev mnp msm multcomp network nmf optimx ordinal partitions
    party partykit plm plot3d plotmo pls powerlaw proto pscl psych psychotools psychotree qtl quantreg r.devices
    r.oo r.rsp rcpp rcpparmadillo rcppeigen rdpack rgenoud rmpfr robumeta rockchalk rprotobuf rrcov sandwich
    seriation sets snowfall sp spacetime spam sparsem stringdist strucchange surveillance systemfit tgp tsp vcd
    vegan zoo
"""
PACKAGES = (*(f"r-bioc-{name}" for name in BIOC.split()), *(f"r-cran-{name}" for name in CRAN.split()))
"""Packages of Debian 12 with a vignette that is taken."""
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_HIDDEN_CHUNK = re.compile(r"^```\{r[^}\n]*\b(?:echo|include) *= *F.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)
_SETUP_CHUNK = re.compile(
    r"^```\{r[^}\n]*\}\n(?:(?!```).*\n)*?.*\bopts_chunk\b(?:(?!^```).*\n)*?```[ \t]*$", re.MULTILINE
)
_QUOTED_CALL = re.compile(r"`r [^`]*?\(\s*[\"']([^\"'`]+)[\"'][^`]*\)`")
_CALL = re.compile(r"`r [^`]*`")
_MACRO = re.compile(r"\\[a-z]+\{([^{}]*)\}")


def main(out: Path) -> None:
    """Download the packages and write the corpus."""
    folders = download_debian(PACKAGES, out / "packages")
    rows = (row for name, folder in folders.items() for row in package_rows(name, folder, out / "cache"))
    write_corpus(out / "vignettes", rows, per_package=PER_PACKAGE)


def package_rows(package: str, folder: Path, cache: Path) -> Iterator[Row]:
    """Yield the vignettes of a package that have an abstract."""
    library = folder / "usr/lib/R/site-library"
    licence = r_licence(library) or debian_licence(folder, package)
    files = sorted(library.glob("*/doc/**/*"))
    papers = {file.stem for file in files if file.suffix == ".pdf"}
    for file in files:
        if file.suffix == ".pdf" and has_abstract(file):
            document = parse(file, cache)
            title, (abstract, body) = document.title, split_abstract(document.blocks)
        elif file.suffix == ".Rmd" and file.stem not in papers:
            title, abstract, body = read_r_markdown(file.read_text(errors="replace"))
        else:
            continue
        if is_paper(abstract, body):
            yield Row(f"{package}/{file.name}", title, to_markdown(body), abstract, package, licence)


def r_licence(library: Path) -> str:
    """Return the licence in the description of an R package; empty if there is none."""
    texts = (file.read_text(errors="replace") for file in library.glob("*/DESCRIPTION"))
    licences = (re.search(r"^License:\s*(.+)$", text, re.MULTILINE) for text in texts)
    return next((licence[1].strip() for licence in licences if licence), "")


def read_r_markdown(text: str) -> tuple[str, str, tuple[TextBlock, ...]]:
    """Read R Markdown whose abstract is a field of its front matter.

    Returns:
        Title, abstract and blocks; an empty abstract if the file has none.
    """
    front = _FRONT_MATTER.match(text)
    try:
        fields = yaml.safe_load(front[1]) if front else None
    except yaml.YAMLError:
        fields = None
    if not front or not isinstance(fields, dict) or not isinstance(fields.get("abstract"), str):
        return "", "", ()
    shown = _SETUP_CHUNK.sub("", _HIDDEN_CHUNK.sub("", text[front.end() :]))
    parsed = load_format("markdown")(_plain(shown).encode(), DEFAULT_OPTIONS)
    title = _plain(str(fields.get("title", ""))).strip()
    return title, tidy_abstract(_inline(fields["abstract"])), cut_back_matter(parsed.blocks)[0]


def _plain(text: str) -> str:
    """Replace inline R by the name that it prints, or by nothing."""
    return _MACRO.sub(r"\1", _CALL.sub("", _QUOTED_CALL.sub(r"\1", text)))


def _inline(text: str) -> str:
    """Return the text of Markdown without its marks."""
    blocks = load_format("markdown")(_plain(text).encode(), DEFAULT_OPTIONS).blocks
    return " ".join(block.text for block in blocks)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
