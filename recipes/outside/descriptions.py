"""Main documents of packages (README, manual, guide) with the description by the Debian maintainer as the reference.

python recipes/outside/descriptions.py OUT
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from common import Row, coverage, debian_licence, download_debian, fault, parse, to_markdown, write_corpus

NAMES = Path(__file__).with_name("descriptions.txt")
"""Packages of Debian 12, one per source package, whose documents can be used; a name per line."""
REFERENCE_WORDS = range(30, 151)
MIN_PROSE = 200
"""Words of paragraphs and list items that a document has at least."""
FOLDERS = (
    "usr/share/doc",
    "usr/share/nodejs",
    "usr/share/gocode/src",
    "usr/lib/python3",
    "usr/share/emacs",
    "usr/share/games",
)
MIN_COVERED = 0.35
"""Share of the words of a description that its document has at least."""
_README = re.compile(r"readme(?:[._-]en)?(?:\.(?:md|markdown|rst|txt|html?|org))?(?:\.gz)?", re.IGNORECASE)
_DOCUMENT = re.compile(r"[\w+-]+(?:\.en)?\.(?:md|rst|txt|html?)(?:\.gz)?", re.IGNORECASE)
_SKIPPED = re.compile(
    r"(?:^|/|_)(?:change(?:s|log)|history|news|todo|copyright|licen[cs]es?|authors|contribut\w*|install\w*|hacking|"
    r"examples?|code.of.conduct|releas\w*|tests?|security|upgrad\w*|credits|thanks|bugs|genindex|search|py-modindex|"
    r"governance|faq|_sources|_static|_modules|node_modules|maintainers|acknowledg\w*|vendor)\b",
    re.IGNORECASE,
)
"""Parts of paths of documents about something else than what the package is for."""
_BOILERPLATE = re.compile(
    r"(?:this (?:is (?:the|a)\b.{,60}(?:package|version)|(?:binary )?package (?:contain|provid|install|includ|ship|is))"
    r"|these? packages?\b|node\.js is an\b|for more information|homepage|author|see https?:|please (?:note|see))",
    re.IGNORECASE,
)
"""Beginnings of paragraphs that do not say what the software is."""


def rows(packages: dict[str, Path], cache: Path) -> Iterator[Row]:
    """Yield the main document of each package that has one."""
    for name, folder in packages.items():
        summary = description(next(iter(sorted(folder.parent.glob(f"{name}_*.deb")))))
        if len(summary.split()) not in REFERENCE_WORDS:
            continue
        licence = debian_licence(folder, name)
        for path in documents(folder):
            document = parse(path, cache)
            prose = " ".join(block.text for block in document.blocks if block.kind in ("paragraph", "list_item"))
            if len(prose.split()) >= MIN_PROSE and coverage(summary, document.text) >= MIN_COVERED:
                id = f"{name}/{path.relative_to(folder).name}"
                row = Row(id, document.title, to_markdown(document.blocks), summary, name, licence)
                if not fault(row):
                    yield row
                    break


def description(deb: Path) -> str:
    """Return the paragraphs of a package's extended description, without lists and what is true of any package."""
    lines = subprocess.run(
        ["dpkg-deb", "-f", str(deb), "Description"], capture_output=True, text=True, check=True
    ).stdout.split("\n")[1:]
    paragraphs: list[str] = []
    for part in re.split(r"\n \.(?=\n|$)", "\n".join(lines)):
        flowing = [line for line in part.split("\n") if not re.match(r" {2,}|\s+[*+•-] ", line)]
        text = " ".join(" ".join(flowing).split())
        if text and not _BOILERPLATE.match(text) and len(flowing) == len(part.split("\n")):
            paragraphs.append(text)
    while paragraphs and (paragraphs[-1].endswith(":") or sum(map(len, map(str.split, paragraphs))) not in range(151)):
        paragraphs.pop()
    return " ".join(paragraphs)


def documents(folder: Path) -> list[Path]:
    """Return the documents of a package, the README and the largest ones first."""
    files: list[tuple[int, int, int, Path]] = []
    for part in FOLDERS:
        for path in (folder / part).glob("**/*"):
            relative = path.relative_to(folder / part)
            readme = bool(_README.fullmatch(path.name))
            is_document = readme or _DOCUMENT.fullmatch(path.name)
            if not is_document or _SKIPPED.search(str(relative)) or path.is_symlink() or not path.is_file():
                continue
            files.append((0 if readme else 1, len(relative.parts) if readme else 0, -path.stat().st_size, path))
    return [path for *_, path in sorted(files)][:4]


def main(out: Path) -> None:
    """Download the packages and write the corpus."""
    packages = download_debian(NAMES.read_text().split(), out / "packages")
    write_corpus(out / "descriptions", rows(packages, out / "cache"), per_package=1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
