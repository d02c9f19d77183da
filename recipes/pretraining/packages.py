"""Packages of Debian 12 (section main) whose documentation is pretraining text, text and HTML before PDF."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_HTML, _MANUAL_PAGES, _INFO = ("**/*.html",), ("usr/share/man/man*/*.gz",), ("usr/share/info/*.info*.gz",)


@dataclass(frozen=True)
class Package:
    """Debian package.

    Attributes:
        name: Name in the archive.
        patterns: Glob patterns of the files to read, below the root of the package.
    """

    name: str
    patterns: tuple[str, ...] = _HTML

    def download(self, folder: Path) -> Path | None:
        """Download and unpack the package unless the folder has it.

        Returns:
            Root of its files; None if the archive has no such package.
        """
        folder.mkdir(parents=True, exist_ok=True)
        root = folder / self.name
        if not root.is_dir():
            if not self._archive(folder):
                command = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", self.name]
                subprocess.run(command, cwd=folder, check=False)
            archive = self._archive(folder)
            if archive is None:
                return None
            subprocess.run(["dpkg", "-x", str(archive), str(root)], check=True)
        return root

    def version(self, folder: Path) -> str:
        """Return the version of the downloaded package; empty if there is none."""
        archive = self._archive(folder)
        return archive.name.split("_")[1].replace("%3a", ":") if archive else ""

    def licences(self, folder: Path) -> list[str]:
        """Return the names of licences in the copyright file of the unpacked package."""
        file = folder / self.name / "usr/share/doc" / self.name / "copyright"
        text = file.read_text(errors="replace") if file.is_file() else ""
        stated = re.findall(r"^License:[ \t]*(\S.*?)\s*$", text, re.MULTILINE)
        return sorted({*stated} or {*re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text)})

    def _archive(self, folder: Path) -> Path | None:
        return next(iter(sorted(folder.glob(f"{self.name}_*.deb"))), None)


def _packages(names: str, patterns: tuple[str, ...]) -> tuple[Package, ...]:
    return tuple(Package(name, patterns) for name in names.split())


_BOOKS = """debian-handbook debian-reference-en debian-policy developers-reference debian-faq debian-history harden-doc
maint-guide installation-guide-amd64 fai-doc live-manual-html aptitude-doc-en apt-doc git-doc exim4-doc-html
postfix-doc bind9-doc krb5-doc ntpsec-doc gnucash-docs gimp-help-en kicad-doc-en valgrind
libvirt-doc xen-doc debian-kernel-handbook"""
_SYSTEMS = """postgresql-doc-15 postgis-doc sqlite3-doc grass-doc ghostscript-doc ffmpeg-doc freeradius
nova-doc neutron-doc keystone-doc cinder-doc glance-doc swift-doc heat-doc ironic-doc octavia-doc designate-doc
manila-doc buildbot-doc ganeti-doc cmake-doc llvm-14-doc clang-14-doc sphinx-doc docutils-doc libxml2-doc
docbook-xsl-doc-html imagemagick-6-doc graphicsmagick ada-reference-manual-2012 monodoc-manual"""
_LANGUAGES = """r-doc-html erlang-doc ghc-doc rust-doc racket-doc nodejs-doc swi-prolog-doc sbcl-doc
openjdk-17-doc fp-docs-3.2.2 gambc-doc scheme48-doc yorick-doc scilab-doc octave-doc maxima-doc gap-doc pari-doc"""
_LIBRARIES = """python-django-doc python-sqlalchemy-doc python-pandas-doc python-scipy-doc python-sklearn-doc
python-sympy-doc python-statsmodels-doc python-astropy-doc python-xarray-doc python-dask-doc python-skimage-doc
python-biopython-doc python-tables-doc python-h5py-doc python-ipython-doc python-tornado-doc python-requests-doc
python-setuptools-doc python-mako-doc python-jinja2-doc python-werkzeug-doc python-cryptography-doc
python-psycopg2-doc python-gevent-doc twisted-doc cython-doc sagemath-doc libboost1.74-doc libglib2.0-doc libgtk-3-doc
dbus-1-doc qtbase5-doc-html qtdeclarative5-doc-html qttools5-doc-html libfftw3-doc libeigen3-doc opencv-doc"""
_PAGES = """manpages manpages-dev freebsd-manpages tcl8.6-doc tk8.6-doc glpk-doc openmpi-doc mpich-doc libssl-doc
coreutils tar wget grep gawk findutils systemd openssh-client iptables nftables sox tmux sudo subversion samba"""
_GNU = """autoconf automake guile-3.0-doc info texinfo m4 groff libtool-doc gettext-doc gnutls-doc zsh-doc bash-doc
flex-doc r-doc-info nano auctex"""
_TEX = """texlive-humanities-doc texlive-latex-base-doc texlive-latex-recommended-doc texlive-science-doc
texlive-publishers-doc texlive-pictures-doc"""

PACKAGES: tuple[Package, ...] = (
    Package("linux-doc-6.1"),
    Package("python3.11-doc"),
    *_packages(_BOOKS, ("**/*.html", "**/*.htm")),
    *_packages(_GNU, (*_INFO, *_HTML)),
    Package("perl-doc", ("**/*.pod",)),
    Package("vim-runtime", ("usr/share/vim/vim*/doc/*.txt",)),
    Package("dict-jargon", ("**/*.dict.dz",)),
    Package("dict-foldoc", ("**/*.dict.dz",)),
    *_packages(_PAGES, (*_MANUAL_PAGES, *_INFO)),
    *_packages(_SYSTEMS, _HTML),
    Package("apache2-doc", ("**/*.html.en",)),
    Package("libreoffice-help-en-us", ("**/en-US/**/*.html",)),
    Package("gnome-user-docs", ("usr/share/help/C/**/*.page",)),
    *_packages(_LANGUAGES, _HTML),
    *_packages(_LIBRARIES, _HTML),
    *_packages(_TEX, ("**/*.pdf",)),
)
"""Packages in the order of reading."""
