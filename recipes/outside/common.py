"""Shared parts of the scripts of this folder: packages, Markdown, checks of a reference, and the files of a corpus.

A script `KIND.py` makes rows from named packages and passes them to `write_corpus`. Packages are kept in the folder
`packages` beside the corpora, parsed documents in `cache`, so that a second run reads neither network nor PDF.
"""

import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sumpool.documents.document import Document, ReadOptions, TextBlock
from sumpool.documents.read import read_documents
from sumpool.text.fragments import overlap
from sumpool.text.language import detect_language

HALVES = ("development", "test")
DOCUMENT_WORDS = range(400, 40_001)
"""Words of a document."""
REFERENCE_WORDS = range(20, 401)
"""Words of a reference."""
MAX_ROWS = 300
"""Documents of a half; further ones are left out evenly by name."""
MAX_LEAK = 0.5
"""Share of the 8-grams of a reference that may occur in its document."""
MAX_SHARED = 0.3
"""Share of the 13-grams of a document that may occur in documents before it."""
_WORD = re.compile(r"[a-z0-9]+")
_SHORT_WORD = 3


@dataclass(frozen=True)
class Row:
    """Document with a reference summary.

    Attributes:
        id: Package and path in the package.
        title: Title; may be empty.
        document: Markdown text without the reference.
        summary: Reference, in one paragraph.
        package: Package that the document comes from; all its documents are in one half.
        licence: Licence of the package.
    """

    id: str
    title: str
    document: str
    summary: str
    package: str
    licence: str


def download_debian(names: Sequence[str], folder: Path) -> dict[str, Path]:
    """Download Debian packages that the folder lacks, and unpack them.

    Returns:
        Folder of the files of each package; packages that the archive lacks are left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    archive = set(subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True, check=True).stdout.split())
    missing = [name for name in names if name in archive and not list(folder.glob(f"{name}_*.deb"))]
    if missing:
        command = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *missing]
        subprocess.run(command, cwd=folder, check=True)
    debs = {name: sorted(folder.glob(f"{name}_*.deb")) for name in names}
    return {name: _unpacked(files[0], folder / name) for name, files in debs.items() if files}


def _unpacked(deb: Path, folder: Path) -> Path:
    if not folder.is_dir():
        subprocess.run(["dpkg", "-x", str(deb), str(folder)], check=True)
    return folder


def download_sdists(requirements: Sequence[str], folder: Path) -> dict[str, Path]:
    """Download source distributions from PyPI that the folder lacks, and unpack them.

    Args:
        requirements: Names with versions, as in `sympy==1.14.0`.
        folder: Folder of the archives.

    Returns:
        Folder of the files of each requirement; those that cannot be downloaded are left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unpacked = {}
    for requirement in requirements:
        target = folder / requirement.replace("==", "-")
        if not target.is_dir():
            archives, project = folder / f"{target.name}.download", requirement.partition("==")[0]
            command = ["pip", "download", "-q", "--no-deps", "--no-binary", project, "-d", str(archives), requirement]
            subprocess.run(command, capture_output=True, check=False)
            if not (files := sorted(archives.glob("*.tar.gz"))):
                print(f"{requirement}: cannot be downloaded")
                continue
            target.mkdir()
            subprocess.run(["tar", "-xzf", str(files[0]), "-C", str(target), "--strip-components=1"], check=True)
        unpacked[requirement] = target
    return unpacked


def download_wheel(requirement: str, folder: Path) -> Path:
    """Download a wheel of Python 3.11 from PyPI if the folder lacks it.

    Args:
        requirement: Name with version, as in `gensim==4.4.0`.
        folder: Folder of the wheels.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pattern = f"{requirement.replace('==', '-')}-*.whl"
    if not list(folder.glob(pattern)):
        command = ["pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11"]
        subprocess.run([*command, "-d", str(folder), requirement], check=True)
    return next(folder.glob(pattern))


def parse(path: Path, cache: Path) -> Document:
    """Read a document, with all its references and appendices, or its copy in the cache."""
    key = hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    file = cache / f"{key}.json"
    if file.is_file():
        entry = json.loads(file.read_text())
        blocks = tuple(TextBlock(**block) for block in entry["blocks"])
        return Document(str(path), entry["text"], entry["error"], entry["title"], blocks)
    document = next(iter(read_documents(str(path), ReadOptions(keep_references=True))))
    cache.mkdir(parents=True, exist_ok=True)
    entry = {"text": document.text, "error": document.error, "title": document.title}
    file.write_text(json.dumps({**entry, "blocks": [asdict(block) for block in document.blocks]}))
    return document


def to_markdown(blocks: Iterable[TextBlock]) -> str:
    """Write blocks as Markdown; notices, such as tables of contents and licences, are left out."""
    parts: list[str] = []
    previous, depth = "", 0
    for block in blocks:
        if block.kind == "notice":
            continue
        depth = min(block.level, depth + 1) if block.kind == "list_item" else 0
        match block.kind:
            case "heading":
                part = f"{'#' * min(max(block.level, 1), 6)} {block.text}"
            case "list_item":
                part = f"{'  ' * (depth - 1)}- {block.text}"
            case "table_row":
                row = f"| {block.text.replace('|', ' ')} |"
                part = row if previous == "table_row" else f"{row}\n| --- |"
            case "code":
                part = f"```\n{block.text}\n```"
            case _:
                part = block.text
        is_joined = previous == block.kind and block.kind in ("table_row", "list_item")
        parts += ["" if not parts else "\n" if is_joined else "\n\n", part]
        previous = block.kind
    return "".join(parts)


def words(text: str) -> list[str]:
    """Return the runs of a-z and 0-9 in lower case."""
    return _WORD.findall(text.lower())


def coverage(reference: str, document: str) -> float:
    """Return the share of the words of a reference, without those of up to three letters, that a document has."""
    terms = {word for word in words(reference) if len(word) > _SHORT_WORD}
    return len(terms & set(words(document))) / max(len(terms), 1)


def fault(row: Row) -> str:
    """Return the reason why a row cannot be used; empty if there is none."""
    if len(row.document.split()) not in DOCUMENT_WORDS:
        return "length of the document"
    if len(row.summary.split()) not in REFERENCE_WORDS:
        return "length of the reference"
    if detect_language(row.document) not in ("", "en") or detect_language(row.summary) not in ("", "en"):
        return "language"
    if overlap(words(row.document), words(row.summary)).leak > MAX_LEAK:
        return "reference in the document"
    return ""


def distinct(rows: Iterable[Row], limit: float = MAX_SHARED) -> Iterator[Row]:
    """Yield the rows that share few 13-grams of document and reference with the rows before them."""
    seen: dict[str, set[int]] = {"document": set(), "summary": set()}
    for row in rows:
        grams = {}
        for name in seen:
            read = words(getattr(row, name))
            grams[name] = {hash(tuple(read[start : start + 13])) for start in range(len(read) - 12)}
        if all(len(grams[name] & seen[name]) <= limit * len(grams[name]) for name in seen):
            for name in seen:
                seen[name] |= grams[name]
            yield row


def half(package: str) -> str:
    """Return the half that the documents of a package belong to."""
    return HALVES[hashlib.sha256(package.encode()).digest()[0] % 2]


def write_corpus(folder: Path, rows: Iterable[Row], *, per_package: int) -> None:
    """Check rows and write those that can be used to `development.jsonl` and `test.jsonl`; print the counts.

    Args:
        folder: Folder of the corpus.
        rows: Rows in any order.
        per_package: Documents of a package at most, the first by ID.
    """
    faults: Counter[str] = Counter()
    good: list[Row] = []
    for row in sorted(rows, key=lambda row: row.id):
        if reason := fault(row):
            faults[reason] += 1
        else:
            good.append(row)
    kept: list[Row] = []
    packages: Counter[str] = Counter()
    for row in distinct(good):
        if packages[row.package] < per_package:
            packages[row.package] += 1
            kept.append(row)
    faults["duplicate, or too many of a package"] = len(good) - len(kept)
    folder.mkdir(parents=True, exist_ok=True)
    for name in HALVES:
        members = [row for row in kept if half(row.package) == name]
        count = min(len(members), MAX_ROWS)
        members = [members[index * len(members) // count] for index in range(count)]
        lines = "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in members)
        (folder / f"{name}.jsonl").write_text(lines)
        documents, summaries = (
            sum(len(getattr(row, field).split()) for row in members) / max(len(members), 1)
            for field in ("document", "summary")
        )
        packages_of_half = len({row.package for row in members})
        print(
            f"{folder.name} {name}: {len(members)} documents of {packages_of_half} packages, "
            f"mean words {documents:,.0f} and {summaries:.0f}"
        )
    print(f"left out: {', '.join(f'{name} {count}' for name, count in faults.most_common() if count) or 'none'}")


def read_corpus(file: Path) -> list[Row]:
    """Read a file that `write_corpus` wrote."""
    return [Row(**json.loads(line)) for line in file.read_text().split("\n") if line]


def debian_licence(package: Path, name: str) -> str:
    """Return the licence of an unpacked Debian package, "see copyright" if its file has no name of one."""
    file = package / "usr/share/doc" / name / "copyright"
    text = file.read_text(errors="replace") if file.is_file() else ""
    licences = re.findall(r"^License:\s*(\S.*?)\s*$", text, re.MULTILINE)
    if licences:
        return str(licences[0])
    common = re.search(r"/usr/share/common-licenses/([\w.-]+\w)", text)
    return common[1] if common else "see copyright"
