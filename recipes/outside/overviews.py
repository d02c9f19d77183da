"""Technical documentation with a written overview as the reference, which is removed from the page.

    python recipes/outside/overviews.py OUT

The reference is the section Overview, Introduction, Abstract, Summary or Description of a page (HTML, reStructuredText,
or the manual pages of Perl), up to its first list or example; on pages of Python and PostgreSQL without such a section,
the paragraphs between the title and the first section.
"""

import gzip
import hashlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from common import Row, coverage, debian_licence, download_debian, fault, parse, to_markdown, write_corpus

from sumpool.documents.document import TextBlock

PACKAGES = """
    alot-doc alpine-doc ant-doc antlr4-doc apache2-doc asciidoctor-doc autogen-doc avrdude-doc awesome-doc barbican-doc
    bash-doc beets-doc berkeley-express-doc bind9-doc bird2-doc borgbackup-doc buildbot-doc bup-doc charliecloud-doc
    chezscheme-doc cinder-doc clang-15-doc claws-mail-doc clisp-doc cmake-doc cockpit-doc crystal-doc cyrus-doc
    cython-doc dbus-1-doc derby-doc designate-doc docbook-xsl-doc-html docutils-doc doxygen-doc elinks-doc emboss-doc
    exim4-doc-html fai-doc ffmpeg-doc firebird3.0-doc flex-doc freetds-doc frr-doc fwupd-doc ganeti-doc gap-doc
    ghostscript-doc glance-doc glpk-doc gnutls-doc gprolog-doc gradle-doc graphviz-doc gretl-doc groovy-doc
    guile-3.0-doc hackrf-doc haproxy-doc heat-doc hmmer-doc icinga2-doc ironic-doc junit4-doc jython-doc kea-doc
    keystone-doc kitty-doc knot-doc knot-resolver-doc krb5-doc lame-doc lava-server-doc leveldb-doc libboost1.74-doc
    libcairo2-doc libcurl4-doc libeigen3-doc libfftw3-doc libflac-doc libgcrypt20-doc libgeos-doc libglib2.0-doc
    libgtk-3-doc libgtk-4-doc libhdf5-doc libmongoc-doc libopus-doc libosmocore-doc libpam-doc libpango1.0-doc
    libsoup2.4-doc libsvn-doc libtasn1-doc libtheora-doc libvips-doc libvirt-doc libxml2-doc lighttpd-doc linux-doc-6.1
    llvm-15-doc lmdb-doc lua5.1-doc mailman3-doc manila-doc mapnik-doc mapserver-doc mkdocs-doc mopidy-doc mpich-doc
    mrbayes-doc munin-doc mypy-doc netcdf-doc nginx-doc ngspice-doc nim-doc notmuch-doc nova-doc ntp-doc ntpsec-doc
    numba-doc nut-doc octave-doc octavia-doc omake-doc openafs-doc openmpi-doc openscap-doc openvswitch-doc ovn-doc
    pari-doc pcp-doc pelican-doc perl-doc pike8.0-doc placement-doc policykit-1-doc portaudio19-doc postfix-doc
    postgis-doc postgresql-doc-15 proftpd-doc puredata-doc putty-doc pybind11-doc pylint-doc pypy3-doc
    python-aiohttp-doc python-asyncssh-doc python-attr-doc python-behave-doc python-bs4-doc python-celery-doc
    python-click-doc python-cryptography-doc python-django-doc python-flask-doc python-gevent-doc python-greenlet-doc
    python-h5py-doc python-jinja2-doc python-kombu-doc python-lxml-doc python-mako-doc python-oslo.config-doc
    python-psycopg2-doc python-pymongo-doc python-pyqtgraph-doc python-reportlab-doc python-requests-doc
    python-scrapy-doc python-setuptools-doc python-sqlalchemy-doc python-tables-doc python-tornado-doc
    python-werkzeug-doc python3.11-doc r-doc-html sbcl-doc scons-doc sphinx-doc sqlite3-doc swi-prolog-doc swift-doc
    systemtap-doc tcl8.6-doc varnish-doc
"""
"""Packages of Debian 12 with documentation in English that does not repeat the manual pages of `manuals.py`."""
WITHOUT_SECTION = ("python3.11-doc", "postgresql-doc-15")
"""Packages whose pages begin with an overview without a heading."""
OVERVIEW = re.compile(
    r"(?:[\dA-Z.]+\s+)?(?:(?:an? |general |executive )?(?:overview|introduction|abstract|summary|description)"
    r"(?: (?:and|&) \w+)?|purpose(?: of this document)?|about this (?:document|module|guide|chapter)|"
    r"what is [\w -]+\??)\W*",
    re.IGNORECASE,
)
"""Headings of an overview."""
_WORD = (
    rb"(?:[\dA-Z.]{1,4}\s+)?(?:[a-z]+ )?"
    rb"(?:overview|introduction|abstract|summary|description|purpose|about this|what is)"
)
_MARKED = re.compile(
    rb"<h[1-6][^>]*>(?:\s|&nbsp;|<[^>]+>){0,8}"
    + _WORD
    + rb"|^\.SH \W?DESCRIPTION|^"
    + _WORD
    + rb"[^\n]{0,30}\n[-=~^*#+.]{3}",
    re.IGNORECASE | re.MULTILINE,
)
"""Headings of an overview in HTML, roff and reStructuredText."""
_NOTE = re.compile(
    r"^(?:source code|new in version|changed in version|deprecated since|author|note|see also|platforms)\b", re.I
)
_META = re.compile(r"\b(?:click here|table of contents|TODO|FIXME|under construction|copyright)\b", re.I)
SUFFIXES = (".html", ".htm", ".html.gz", ".rst", ".rst.gz", ".3perl.gz", ".1.gz", ".3pm.gz", ".7.gz")
SKIPPED = re.compile(
    r"/(?:_sources|_modules|_static|translations|licen[cs]e|changelog|whatsnew|release)|genindex|py-modindex|/peps/|"
    r"/xmllint|/ntp_conf|/search\.html|/(?:fr|de|ja|ko|tr|es|pt-br|zh-cn|ru|it)/|releasenotes|/news|copyright|authors",
    re.IGNORECASE,
)
REFERENCE_WORDS = range(30, 251)
MIN_PROSE = 250
"""Words of paragraphs and list items that a document has at least."""
MIN_COVERED = 0.4
"""Share of the words of a reference that its document has at least."""
PLACE = 0.25
"""Part of a page in which its overview begins."""
PER_PACKAGE = 12
MAX_PAGES = 80
"""Pages of a package that are parsed at most."""
MAX_READ = 1500
"""Files of a package that are read at most."""


def rows(packages: dict[str, Path], cache: Path) -> Iterator[Row]:
    """Yield pages of each package, in the order of the hashes of their paths."""
    for name, folder in packages.items():
        licence = debian_licence(folder, name)
        pages = islice(candidates(folder, name), MAX_PAGES)
        usable = (row for page in pages if (row := to_row(page, folder, name, licence, cache)))
        yield from islice(usable, PER_PACKAGE)


def candidates(folder: Path, package: str) -> Iterator[Path]:
    """Yield the pages of a package, relative to its folder, that may have an overview, in the order of their hashes."""
    paths = [Path(root, name).relative_to(folder) for root, _, names in os.walk(folder / "usr/share") for name in names]
    pages = [path for path in paths if path.name.endswith(SUFFIXES) and not SKIPPED.search(f"/{path}")]
    for page in sorted(pages, key=lambda page: hashlib.sha256(str(page).encode()).digest())[:MAX_READ]:
        file = folder / page
        if file.is_symlink():
            continue
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        if len(content) > MIN_PROSE * 10 and (package in WITHOUT_SECTION or _MARKED.search(content)):
            yield page


def to_row(page: Path, folder: Path, package: str, licence: str, cache: Path) -> Row | None:
    """Make a row of a page; None unless it has an overview and can be used."""
    document = parse(folder / page, cache)
    blocks = [block for block in document.blocks if block.kind != "notice"]
    start, end = overview(blocks, without_section=package in WITHOUT_SECTION)
    reference = " ".join(block.text for block in blocks[start:end])
    heading = (
        start - 1
        if start and blocks[start - 1].kind == "heading" and OVERVIEW.fullmatch(blocks[start - 1].text)
        else start
    )
    rest = blocks[:heading] + blocks[end:]
    if not is_overview(reference, rest):
        return None
    path = re.sub(r"^usr/share/(?:doc/)?", "", str(page))
    row = Row(f"{package}/{path}", document.title, to_markdown(rest), reference, package, licence)
    return None if fault(row) else row


def overview(blocks: Sequence[TextBlock], *, without_section: bool) -> tuple[int, int]:
    """Return the range of the paragraphs of the overview; an empty one if there is none."""
    headings = [place for place, block in enumerate(blocks) if block.kind == "heading"]
    sections = [place for place in headings if OVERVIEW.fullmatch(blocks[place].text) and place <= PLACE * len(blocks)]
    if sections:
        start = sections[0] + 1
    elif without_section and headings:
        start = headings[0] + 1
        while start < len(blocks) and (_NOTE.match(blocks[start].text) or len(blocks[start].text.split()) < 10):
            start += 1
    else:
        return 0, 0
    end = start
    while end < len(blocks) and blocks[end].kind == "paragraph":
        end += 1
    if end > start and blocks[end - 1].text.endswith(":"):
        end -= 1
    return start, end


def is_overview(reference: str, rest: Sequence[TextBlock]) -> bool:
    """Return whether a text may be the summary of the blocks that follow it."""
    if (
        len(reference.split()) not in REFERENCE_WORDS
        or not reference.endswith((".", "!", ".)"))
        or _META.search(reference)
    ):
        return False
    prose = " ".join(block.text for block in rest if block.kind in ("paragraph", "list_item"))
    if len(prose.split()) < MIN_PROSE:
        return False
    return coverage(reference, prose) >= MIN_COVERED


def main(out: Path) -> None:
    """Download the packages and write the corpus."""
    packages = download_debian(PACKAGES.split(), out / "packages")
    write_corpus(out / "overviews", rows(packages, out / "cache"), per_package=PER_PACKAGE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
