"""Running text of a language from Debian's manuals and handbooks, in the layout of CC-100.

    python recipes/running_text/manuals_of_language.py fi OUT

writes OUT/fi.txt, pages separated by blank lines and in an order by the hashes of their names, and OUT/fi.json with the
version and the size of every package. A paragraph is kept once, and only if the language detector does not find another
language in it. Packages stay in OUT/packages; the text has the licences of its packages.
"""

import argparse
import hashlib
import json
import logging
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from sumpool.documents.document import ReadOptions
from sumpool.documents.read import read_documents
from sumpool.text.language import detect_language

HANDBOOKS: Final = (
    *("libreoffice-help-{}", "manpages-{}", "manpages-{}-dev", "installation-guide-amd64", "debian-handbook"),
    *("gimp-help-{}", "debian-reference-{}", "debian-faq-{}", "developers-reference-{}", "aptitude-doc-{}"),
    *("maint-guide-{}", "debian-policy-{}", "debian-edu-doc-{}", "kicad-doc-{}", "scilab-doc-{}"),
)
"""Packages with text in many languages; those that the archive lacks are left out."""
_PAGE = re.compile(r".+\.(x?html?(\.gz)?|[1-9]\w*\.gz|txt(\.gz)?)")
"""Names of pages in HTML, of manual pages, and of plain texts."""
_MIN_LETTERS: Final = 20
"""Letters of a paragraph at least; shorter ones are captions of buttons and names."""
_LETTERS = re.compile(r"[^\W\d_]")
_ENGLISH: Final = frozenset("and are by for from how is of or that the this to with".split())  # noqa: SIM905
_LOG = logging.getLogger(__name__)


@dataclass
class Share:
    """Part of a package in the text.

    Attributes:
        package: Name.
        version: Version.
        pages: Pages with text.
        characters: Characters kept.
    """

    package: str
    version: str = ""
    pages: int = 0
    characters: int = 0


def download(names: Sequence[str], folder: Path) -> dict[str, Path]:
    """Download and unpack packages that the folder lacks; return the archive of each one that there is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not list(folder.glob(f"{name}_*.deb")):
            command = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name]
            subprocess.run(command, cwd=folder, capture_output=True, check=False)
    archives = {name: files[0] for name in names if (files := sorted(folder.glob(f"{name}_*.deb")))}
    for name, archive in archives.items():
        if not (folder / name).is_dir():
            subprocess.run(["dpkg", "-x", str(archive), str(folder / name)], check=True)
    return archives


def pages(root: Path, language: str) -> list[Path]:
    """List the pages of an unpacked package in a language, by the hashes of their names."""
    folder = re.compile(rf"(html\.)?{language}(-[A-Z]{{2}})?")
    paths = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    named = (path for path in paths if _PAGE.fullmatch(path.name) and not path.name.startswith("changelog"))
    in_language = (
        path
        for path in named
        if any(map(folder.fullmatch, path.relative_to(root).parts)) or path.name.endswith(f".{language}.html")
    )
    return sorted(in_language, key=lambda path: hashlib.sha256(str(path.relative_to(root)).encode()).digest())


def paragraphs(path: Path, language: str, seen: set[bytes]) -> Iterator[str]:
    """Yield the new paragraphs of a page that are not in another language."""
    document = next(iter(read_documents(str(path), ReadOptions(keep_references=True))))
    for block in document.blocks:
        text = " ".join(block.text.split())
        digest = hashlib.blake2b(text.encode(), digest_size=12).digest()
        if block.kind == "code" or digest in seen or len(_LETTERS.findall(text)) < _MIN_LETTERS:
            continue
        seen.add(digest)
        if detect_language(text) in (language, "") and not _is_english(text):
            yield text


def _is_english(text: str) -> bool:
    """Return whether a paragraph has two function words of English; one that is too short to detect a language in."""
    return len(_ENGLISH & set(text.lower().split())) > 1


def cut(language: str, out: Path) -> list[Share]:
    """Write the text of a language and return the shares of its packages.

    Args:
        language: Code of the language (ISO 639-1).
        out: Folder of the files.
    """
    names = [name.format(language) for name in HANDBOOKS]
    shares, texts, seen = [], dict[bytes, str](), set[bytes]()
    for name, archive in download(names, out / "packages").items():
        share = Share(name, archive.name.split("_")[1].replace("%3a", ":"))
        for path in pages(out / "packages" / name, language):
            if text := "\n".join(paragraphs(path, language, seen)):
                texts[hashlib.sha256(str(path.relative_to(out)).encode()).digest()] = text
                share.pages += 1
                share.characters += len(text)
        _LOG.info("%s: %s", language, share)
        shares.append(share)
    with (out / f"{language}.txt").open("w") as file:
        for digest in sorted(texts):  # pages of all packages are mixed
            file.write(f"{texts[digest]}\n\n")
    (out / f"{language}.json").write_text(json.dumps([asdict(share) for share in shares], indent=1) + "\n")
    return shares


def main() -> None:
    """Cut the text of the language on the command line."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    cut(arguments.language, arguments.out)


if __name__ == "__main__":
    main()
