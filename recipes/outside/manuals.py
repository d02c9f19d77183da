"""Manual pages whose reference is the first paragraph of their description, which is removed from the page.

python recipes/outside/manuals.py OUT
"""

import hashlib
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from common import Row, debian_licence, download_debian, fault, parse, to_markdown, write_corpus

PACKAGES = """
    9base abcde acl anacron apache2-bin apache2-utils apt aptitude at attr audacious autoconf autogen automake
    autopkgtest bash bc bind9-dnsutils bind9-utils binutils-common bison bluez bogofilter bridge-utils bsdgames bspwm
    btrfs-progs cdparanoia chicken-bin chrony coreutils cpio cron cryptsetup-bin cscope csound-utils cups-client
    curl cvs dash dc debhelper debootstrap devscripts dgit dnsmasq-base docbook-utils dosfstools dpkg dpkg-dev dwm
    e2fsprogs ecasound ed elinks enscript equivs erlang-manpages ethtool exim4-base fakechroot fakeroot feh fetchmail
    ffmpeg findutils fish flac flex fontconfig fonttools freebsd-manpages fvwm gawk gdisk genisoimage getmail6
    ghostscript git-buildpackage git-man gmt gnupg-utils gnuplot-nox gperf gpg gpg-agent graphicsmagick groff-base
    guile-3.0 haproxy hdparm herbstluftwm hostapd i3-wm ifupdown imagemagick-6-common indent inn2 iproute2 iptables
    iputils-ping isc-dhcp-client isync jed joe jq ksh93u+m lame less lftp libacl1-dev libarchive-dev libbsd-dev
    libcap-dev libcurl4-doc libpcap-dev libseccomp-dev libssl-doc libtool-bin liburing-dev libxml2-utils lighttpd
    lilypond lintian logrotate ltrace lvm2 lynx m4 maildrop mailutils man-db manpages manpages-dev mariadb-client
    mawk mc mdadm mercurial-common mksh mmdebstrap mpd mpg123 msmtp mtools mutt nano ncftp ncurses-doc netpbm
    nethack-common nfs-common nftables nmap nmh nsd ntpsec nvi openbox opensc openssh-client openssh-server openssl
    parted pass pbuilder perl piuparts plotutils poppler-utils postfix postgresql-client-15 privoxy procmail procps
    psutils python3-docutils qpdf quilt quota rc reprepro rsync rsyslog rxvt-unicode sane-utils sbuild schroot screen
    slurm-client smartmontools sox spamc sqlite3 squashfs-tools squid strace stunnel4 subversion swi-prolog-nox
    sysstat systemd tar tcl8.6-doc tcpdump tcsh texinfo timidity tk8.6-doc tmux tor tshark unbound units
    universal-ctags util-linux vim-common vorbis-tools w3m wget wodim wpasupplicant x11-apps x11-utils
    x11-xserver-utils xbindkeys xdotool xmlstarlet xorg-docs-core xorriso xserver-xorg-core xsltproc xterm yasm
    zsh-common
"""
"""Packages of Debian 12 with manual pages in English."""
SECTIONS = ("man1", "man3", "man4", "man5", "man6", "man7", "man8")
REFERENCE_WORDS = range(25, 151)
MIN_BYTES = 1500
"""Size of a compressed page of 400 words at least."""
PER_PACKAGE = 8


def rows(packages: dict[str, Path], cache: Path) -> Iterator[Row]:
    """Yield pages of each package, in the order of the hashes of their names."""
    for name, folder in packages.items():
        licence = debian_licence(folder, name)
        pages = [page for section in SECTIONS for page in (folder / "usr/share/man" / section).glob("*.gz")]
        pages = [page for page in pages if not page.is_symlink() and page.stat().st_size >= MIN_BYTES]
        pages.sort(key=lambda page: hashlib.sha256(page.name.encode()).digest())
        usable = (row for page in pages if (row := to_row(page, name, licence, cache)))
        yield from islice(usable, PER_PACKAGE)


def to_row(page: Path, package: str, licence: str, cache: Path) -> Row | None:
    """Make a row of a page; None unless its description begins with a paragraph of the right length."""
    blocks = list(parse(page, cache).blocks)
    place = next((at for at, block in enumerate(blocks) if block.text.upper() == "DESCRIPTION"), -1) + 1
    if not 0 < place < len(blocks) or blocks[place].kind != "paragraph":
        return None
    reference = blocks.pop(place).text
    if len(reference.split()) not in REFERENCE_WORDS or not reference.endswith("."):
        return None
    id = f"{package}/{page.name.removesuffix('.gz')}"
    row = Row(id, page.name.split(".")[0], to_markdown(blocks), reference, package, licence)
    return None if fault(row) else row


def main(out: Path) -> None:
    """Download the packages and write the corpus."""
    packages = download_debian(PACKAGES.split(), out / "packages")
    write_corpus(out / "manuals", rows(packages, out / "cache"), per_package=PER_PACKAGE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
