"""Measure how much of hand-checked pages the formats read, in order: `python docs/scripts/format_coverage.py FOLDER`.

FOLDER holds packages (.deb, .tar.gz, .tgz) or their unpacked folders. docs/scripts/format_coverage/NAME.txt has the
checked text of one page:

    package | version | path inside the package | part | producer
    running head: regular expression of a line that recurs on the pages (any number of such lines)
    licence: licence of the text (optional)

    text ...

The package `sumpool` is the bundled sample of RFCs. The part is `all`, `page 7`, `pages 7-8` or `lines 10-90`; with
`all`, the text may be an excerpt.
"""

import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from sumpool.data.sources.rfc import bundled_sample
from sumpool.documents.document import Document, ReadOptions, TextBlock
from sumpool.documents.read import read_documents

GOLD = Path(__file__).with_suffix("")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+(?:['\u2019-][^\W_]+)*")
_PART = re.compile(r"(?P<unit>page|line)s? (?P<first>\d+)(?:-(?P<last>\d+))?")
_UNPACKERS = {
    ".deb": ("dpkg-deb", "--fsys-tarfile"),
    ".gz": ("gzip", "-dc"),
    ".tgz": ("gzip", "-dc"),
    ".xz": ("xz", "-dc"),
}
_RUNNING_HEAD = "running head: "


@dataclass(frozen=True)
class Gold:
    """Checked text of a page.

    Attributes:
        package: Name of the package.
        version: Version of the package.
        path: Path of the file inside the package.
        part: Part of the file: "all", "page 7", "pages 7-8" or "lines 10-90".
        producer: Program that wrote the file.
        running_heads: Regular expressions of blocks that recur on the pages.
        text: Text of the part.
    """

    package: str
    version: str
    path: str
    part: str
    producer: str
    running_heads: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Coverage:
    """Comparison of a page with its checked text.

    Attributes:
        words: Words of the checked text.
        in_order: Words of it that were read, in order.
        extra: Words that were read from the part but are not in the checked text; 0 for whole files.
        running_heads: Blocks that are running heads.
        error: Error message of the file; empty if it was read.
    """

    words: int
    in_order: int = 0
    extra: int = 0
    running_heads: int = 0
    error: str = ""


def read_gold(path: Path) -> Gold:
    """Read a file of docs/scripts/format_coverage.

    Raises:
        ValueError: If the first line does not have five parts.
    """
    head, _, text = path.read_text().partition("\n\n")
    first, *rest = head.split("\n")
    fields = [field.strip() for field in first.split("|")]
    if len(fields) != 5:
        raise ValueError(f"{path} must begin with package | version | path | part | producer, got {first!r}")
    package, version, file, part, producer = fields
    heads = tuple(line.removeprefix(_RUNNING_HEAD) for line in rest if line.startswith(_RUNNING_HEAD))
    return Gold(package, version, file, part, producer, heads, text)


def package_file(folder: Path, gold: Gold) -> bytes:
    """Return a file of a package, from its unpacked folder or its archive.

    Raises:
        FileNotFoundError: If neither is in the folder.
    """
    if gold.package == "sumpool":
        return _archived(bundled_sample(), gold.path)
    for root in (folder / gold.package, *folder.glob(f"*/{gold.package}-{gold.version}*"), *folder.glob("*/*")):
        if root.is_dir() and root.name.startswith(gold.package) and (root / gold.path).is_file():
            return (root / gold.path).read_bytes()
    for archive in sorted(folder.rglob(f"{gold.package}[-_]*{gold.version.replace(':', '%3a')}*")):
        if archive.is_file():
            return _archived(archive, gold.path)
    raise FileNotFoundError(f"{folder} must hold {gold.package} {gold.version}, got none")


def compare(document: Document, gold: Gold) -> Coverage:
    """Compare a document with its checked text."""
    expected = words(gold.text)
    if document.error:
        return Coverage(len(expected), error=document.error)
    blocks = list(part_of(document, gold.part))
    actual = words("\n".join(block.text for block in blocks))
    matches = SequenceMatcher(None, expected, actual, autojunk=False).get_matching_blocks()
    in_order = sum(match.size for match in matches)
    running_heads = sum(bool(re.fullmatch(head, block.text)) for block in blocks for head in gold.running_heads)
    return Coverage(len(expected), in_order, 0 if gold.part == "all" else len(actual) - in_order, running_heads)


def part_of(document: Document, part: str) -> Iterator[TextBlock]:
    """Yield the blocks of a part of a document.

    Raises:
        ValueError: If the part is not "all", pages or lines.
    """
    match = _PART.fullmatch(part)
    if not match and part != "all":
        raise ValueError(f"part must be all, pages or lines, got {part!r}")
    for block in document.blocks:
        place = block.page if match and match["unit"] == "page" else block.line
        if not match or (place is not None and int(match["first"]) <= place <= int(match["last"] or match["first"])):
            yield block


def words(text: str) -> list[str]:
    """Split a text into words without punctuation; Chinese and Japanese characters count singly."""
    return _WORD.findall(text)


def table(folder: Path) -> Iterator[str]:
    """Yield the rows of the table, in Markdown."""
    yield "| file | producer | words | in order | not in the page | running heads |"
    yield "|---|---|---:|---:|---:|---:|"
    for path in sorted(GOLD.glob("*.txt")):
        gold = read_gold(path)
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / Path(gold.path).name
            file.write_bytes(package_file(folder, gold))
            (document,) = read_documents(str(file), ReadOptions(keep_references=True))
        coverage = compare(document, gold)
        share = coverage.error or f"{100 * coverage.in_order / max(coverage.words, 1):.1f} %"
        name = f"{gold.package} {Path(gold.path).name}" + ("" if gold.part == "all" else f", {gold.part}")
        yield (
            f"| {name} | {gold.producer} | {coverage.words} | {share} | {coverage.extra} | {coverage.running_heads} |"
        )


def _archived(archive: Path, path: str) -> bytes:
    command = [*_UNPACKERS[archive.suffix], str(archive)]
    content = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as source:
        for member in source:
            if member.isfile() and (member.name.removeprefix("./") == path or member.name.endswith(f"/{path}")):
                file = source.extractfile(member)
                if file:
                    return file.read()
    raise FileNotFoundError(f"{archive} must hold {path}, got no such file")


if __name__ == "__main__":
    for line in table(Path(sys.argv[1])):
        sys.stdout.write(f"{line}\n")
