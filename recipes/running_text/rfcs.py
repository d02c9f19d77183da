"""Running text of the bodies of RFCs, in the layout of CC-100.

    python recipes/running_text/rfcs.py RFC-CORPUS OUT --limit 20000000

reads rfcN.txt and rfcN.txt.gz of a folder, and writes OUT/rfc.txt: bodies without page headers, title block, table of
contents and authors' addresses, separated by blank lines, in an order by the hashes of their names.
"""

import argparse
import gzip
import hashlib
import logging
from pathlib import Path

from sumpool.data.sources import clean_body


def cut(corpus: Path, out: Path, limit: int) -> int:
    """Write the bodies of RFCs up to a number of characters, and return how many characters there are."""
    paths = [path for path in corpus.glob("rfc*.txt*") if path.name.endswith((".txt", ".txt.gz"))]
    characters = 0
    with (out / "rfc.txt").open("w") as file:
        for path in sorted(paths, key=lambda path: hashlib.sha256(path.name.split(".")[0].encode()).digest()):
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            body = clean_body(content.decode("utf-8", errors="replace"))
            text = "\n".join(line for line in body.split("\n") if line.strip())
            if text:
                file.write(f"{text}\n\n")
                characters += len(text)
            if characters >= limit:
                break
    return characters


def main() -> None:
    """Cut the text of the folder on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=int, default=20_000_000)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.info("%s characters", f"{cut(arguments.corpus, arguments.out, arguments.limit):,}")


if __name__ == "__main__":
    main()
