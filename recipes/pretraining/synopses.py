"""One-line synopses of manual pages, POD and modules, as summaries of their texts.

    python recipes/pretraining/synopses.py pretraining-corpus

reads the files of a corpus and writes synopses-train.jsonl and synopses-validation.jsonl beside them, for models that
generate titles. The synopsis is the part of a title behind its dash, as in "aio - POSIX asynchronous I/O overview".
"""

import argparse
import json
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SYNOPSIS = re.compile(r"[\w.:+-]{1,40}(?:\(\d\w*\))? [-\u2013\u2014]+ (?P<synopsis>\S.*?)(?: \u2014 .*)?")
_WORDS = range(3, 20)
"""Words of a synopsis."""
_LOG = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> None:
    """Write the synopses of a corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder that corpus.py wrote")
    corpus: Path = parser.parse_args(argv).corpus
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for split in ("train", "validation"):
        lines = list(_rows(corpus / f"{split}.jsonl"))
        (corpus / f"synopses-{split}.jsonl").write_text("".join(lines))
        _LOG.info("%s: %d synopses", split, len(lines))


def synopsis(title: str) -> str:
    """Return the synopsis in a title; empty if there is none of three to nineteen words."""
    match = _SYNOPSIS.fullmatch(title)
    return match["synopsis"] if match and len(match["synopsis"].split()) in _WORDS else ""


def _rows(file: Path) -> Iterator[str]:
    with file.open() as lines:
        for line in lines:
            row = json.loads(line)
            if row["id"].endswith("#0") and (text := synopsis(row["title"])):
                yield json.dumps({"id": row["id"], "document": row["document"], "summary": text}) + "\n"


if __name__ == "__main__":
    main()
