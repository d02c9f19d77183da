"""Passages of manual pages and of RFCs, as two classes in the layout of the reviews of IMDb.

    python recipes/papers/small/genres.py MANUALS RFCS OUT

reads compressed manual pages (/usr/share/man/man1 ...) and rfcN.txt.gz, and writes OUT/train/neg/N.txt (manual pages),
OUT/train/pos/N.txt (RFCs) and OUT/test likewise: the first 255 bytes of paragraphs, in lower case. The passages of a
document are nearly always in one split; at most ten manual pages are of one family of names, such as git-. The label
costs nothing.
"""

import argparse
import gzip
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from sumpool.data.sources import clean_body
from sumpool.documents.read import read_documents

BYTES = 255
ROWS = {"train": 1500, "test": 500}
"""Passages of each class."""
_OF_DOCUMENT, _OF_FAMILY = 4, 10


def manuals(folder: Path, draw: random.Random) -> Iterator[list[str]]:
    """Yield the paragraphs of manual pages."""
    paths = sorted(path for path in folder.glob("man[1-8]/*.gz") if path.is_file() and not path.is_symlink())
    draw.shuffle(paths)
    families = Counter[str]()
    for path in paths:
        family = re.split(r"[-_.:\d]", path.name)[0]
        families[family] += 1
        if families[family] <= _OF_FAMILY:
            document = next(iter(read_documents(str(path))))
            yield [block.text for block in document.blocks if block.kind == "paragraph"]


def rfcs(folder: Path, draw: random.Random) -> Iterator[list[str]]:
    """Yield the paragraphs of RFCs."""
    paths = sorted(folder.glob("rfc*.txt.gz"))
    draw.shuffle(paths)
    for path in paths:
        yield clean_body(gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")).split("\n\n")


def passages(documents: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the first passages of each document."""
    for paragraphs in documents:
        texts = (" ".join(paragraph.lower().split()) for paragraph in paragraphs)
        long = [text[:BYTES] for text in texts if len(text) >= BYTES and text.isascii() and re.match("[a-z]", text)]
        yield [*dict.fromkeys(long)][:_OF_DOCUMENT]


def main() -> None:
    """Write the passages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manuals", type=Path)
    parser.add_argument("rfcs", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    draw = random.Random(1)
    for side, documents in (("neg", manuals(given.manuals, draw)), ("pos", rfcs(given.rfcs, draw))):
        found, seen = passages(documents), set[str]()
        for split, count in ROWS.items():
            folder = given.out / split / side
            folder.mkdir(parents=True, exist_ok=True)
            written = 0
            while written < count:
                for text in next(found):
                    if text not in seen:
                        seen.add(text)
                        (folder / f"{written:05}.txt").write_text(text, "utf-8")
                        written += 1


if __name__ == "__main__":
    main()
