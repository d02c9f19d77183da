"""English prose of documentation packages, as JSON lines for gap-sentence pretraining.

    python recipes/pretraining/corpus.py pretraining-corpus --rfc rfc-corpus --held-out outside/*/*.jsonl

writes train.jsonl, validation.jsonl and report.json, which has version, licence and
size of every package. Packages are downloaded by apt-get into `--cache` and read one by one; the prose of a package is
kept there, so that a second run reads only what is missing.
"""

import argparse
import hashlib
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from deduplication import HeldOut, Paragraphs, held_out_texts
from packages import PACKAGES, Package
from prose import MIN_WORDS, Text, is_translation, read_prose

from sumpool.data.config import hash_split

_VALIDATION = 0.01
"""Fraction of the files whose texts are for validation."""
_SPARE = 1.25
"""Characters read of a package per byte of its share, since repeated paragraphs are removed later."""
_LOG = logging.getLogger(__name__)


@dataclass
class Share:
    """Share of a package in the corpus.

    Attributes:
        package: Name of the package.
        version: Version of the package.
        licences: Licences that its copyright file names.
        texts: Texts kept.
        words: Words kept.
        bytes: UTF-8 bytes kept.
        repeated: Words of paragraphs that other texts have.
        held_out: Words of paragraphs of held-out documents.
    """

    package: str
    version: str = ""
    licences: list[str] = field(default_factory=list)
    texts: int = 0
    words: int = 0
    bytes: int = 0
    repeated: int = 0
    held_out: int = 0


@dataclass
class Corpus:
    """Files of a corpus and what has been written to them."""

    files: Mapping[str, TextIO]
    held_out: HeldOut
    max_package_bytes: int
    paragraphs: Paragraphs = field(default_factory=Paragraphs)

    def add(self, share: Share, rows: Iterator[tuple[str, Text]]) -> None:
        """Write the new paragraphs of a package, and count them in its share."""
        for name, text in rows:
            if share.bytes >= self.max_package_bytes:
                return
            new = self.paragraphs.remove(text.paragraphs)
            kept = self.held_out.remove(new)
            share.repeated += _words(text.paragraphs) - _words(new)
            share.held_out += _words(new) - _words(kept)
            if _words(kept) < MIN_WORDS:
                continue
            row = {"id": name, "title": text.title, "document": "\n\n".join(kept), "package": share.package}
            document = name.partition("#")[0]
            self.files[hash_split(document, _VALIDATION, 0)].write(json.dumps(row, ensure_ascii=False) + "\n")
            share.texts += 1
            share.words += _words(kept)
            share.bytes += len(row["document"].encode())


def main(argv: Sequence[str] | None = None) -> None:
    """Build the corpus that the command line asks for."""
    arguments = _arguments(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    held_out = HeldOut(held_out_texts(arguments.held_out, arguments.rfc))
    _LOG.info("%s 13-grams of held-out documents", f"{len(held_out):,}")
    shares: list[Share] = []
    with (out / "train.jsonl").open("w") as train, (out / "validation.jsonl").open("w") as validation:
        files = {"train": train, "validation": validation}
        corpus = Corpus(files, held_out, round(arguments.package_mebibytes * 2**20))
        for package in PACKAGES:
            if arguments.packages and package.name not in arguments.packages:
                continue
            if sum(share.bytes for share in shares) >= arguments.mebibytes * 2**20:
                break
            shares.append(_add_package(package, arguments.cache, corpus))
    _write_report(out / "report.json", shares)


def _add_package(package: Package, cache: Path, corpus: Corpus) -> Share:
    begin = time.perf_counter()
    share = Share(package.name)
    file = cache / "prose" / f"{package.name}.jsonl"
    archives = cache / "packages"
    if not file.is_file():
        folder = package.download(archives)
        if folder is None:
            _LOG.info("%s: not in the archive", package.name)
            return share
        _cache_prose(package, folder, file, corpus.max_package_bytes)
    share.version, share.licences = package.version(archives), package.licences(archives)
    corpus.add(share, _cached_prose(package, file))
    seconds = time.perf_counter() - begin
    _LOG.info("%s: %.1f MiB of %d texts in %.0f s", package.name, share.bytes / 2**20, share.texts, seconds)
    return share


def _cache_prose(package: Package, folder: Path, file: Path, max_bytes: int) -> None:
    """Write the prose of a package to a file, which appears when it is complete; of large packages a random part."""
    file.parent.mkdir(parents=True, exist_ok=True)
    names = {path.relative_to(folder).as_posix() for pattern in package.patterns for path in folder.glob(pattern)}
    names = {name for name in names if (folder / name).is_file() and not is_translation(name)}
    partial = file.with_suffix(".partial")
    size = 0
    with partial.open("w") as lines:
        for name in sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest()):
            for text in read_prose(folder / name):
                lines.write(json.dumps({"path": name, **asdict(text)}, ensure_ascii=False) + "\n")
                size += sum(map(len, text.paragraphs))
            if size >= _SPARE * max_bytes:
                break
    partial.rename(file)


def _cached_prose(package: Package, file: Path) -> Iterator[tuple[str, Text]]:
    """Yield the texts of a package with their ids: package, path, and number of the text within the file."""
    previous, number = "", 0
    with file.open() as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            number = number + 1 if row["path"] == previous else 0
            previous = row["path"]
            yield f"{package.name}/{previous}#{number}", Text(row["title"], tuple(row["paragraphs"]))


def _words(paragraphs: Sequence[str]) -> int:
    return sum(len(paragraph.split()) for paragraph in paragraphs)


def _write_report(file: Path, shares: Sequence[Share]) -> None:
    total = {name: sum(getattr(share, name) for share in shares) for name in ("texts", "words", "bytes")}
    file.write_text(json.dumps({"total": total, "packages": [asdict(share) for share in shares]}, indent=1) + "\n")
    _LOG.info("%s texts, %s words, %.1f MiB", f"{total['texts']:,}", f"{total['words']:,}", total["bytes"] / 2**20)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the corpus")
    parser.add_argument("--cache", type=Path, default=Path("pretraining-cache"), help="folder of packages and prose")
    parser.add_argument("--rfc", type=Path, help="RFC series, whose validation and test splits are held out")
    parser.add_argument("--held-out", type=Path, nargs="*", default=[], help="JSON lines: document and summary")
    parser.add_argument("--packages", nargs="*", help="names of packages to read; by default all")
    parser.add_argument("--mebibytes", type=float, default=200, help="size at which no further package is read")
    parser.add_argument("--package-mebibytes", type=float, default=24, help="size of the share of a package at most")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
