"""Manual pages of this machine as documents unlike RFCs: how well does a model write about what it has not learnt?

    python recipes/outside/manuals.py manuals 130
    sumpool summarize manuals/documents.jsonl --model RUN --out manuals/summaries.jsonl
    sumpool evaluate manuals/summaries.jsonl --references manuals/references.jsonl

The reference of a page is the first paragraph of its description, which is taken out of the document.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SECTIONS = ("man1", "man5", "man7", "man8")
ROOT = Path("/usr/share/man")
REFERENCE = range(20, 121)
"""Words of a reference."""
SHORTEST = 400
"""Words of a document at least."""


def main(folder: Path, wanted: int) -> None:
    """Write so many pages, spread evenly over all that are suited, into two files of JSON lines."""
    pages = sorted(path for section in SECTIONS for path in (ROOT / section).glob("*.gz") if not path.is_symlink())
    folder.mkdir(parents=True, exist_ok=True)
    tried = 10 * wanted  # about one in nine is suited
    spread = (pages[place * len(pages) // tried] for place in range(tried))
    with (folder / "documents.jsonl").open("w") as documents, (folder / "references.jsonl").open("w") as references:
        for number, (name, document, reference) in enumerate(suited(dict.fromkeys(spread)), 1):
            documents.write(json.dumps({"id": name, "document": document}) + "\n")
            references.write(json.dumps({"id": name, "document": document, "summary": reference}) + "\n")
            if number == wanted:
                break


def suited(pages: Iterator[Path] | dict[Path, None]) -> Iterator[tuple[str, str, str]]:
    """Give name, document and reference of the pages that have both in good length."""
    for page in pages:
        text = plain(page)
        found = re.search(r"\nDESCRIPTION\n+(.+?)\n\n", text, re.DOTALL)
        if not found or ("\n       " in found[1] and re.search(r"\S {3,}\S", found[1])):  # a table or a list
            continue
        reference = " ".join(found[1].split())
        rest = text[: found.start(1)] + text[found.end(1) :]
        if len(reference.split()) in REFERENCE and len(rest.split()) >= SHORTEST and reference.endswith("."):
            yield page.name.removesuffix(".gz"), rest, reference


def plain(page: Path) -> str:
    """Give a page as text, each paragraph on a line of its own, without the headings of printed pages."""
    shown = subprocess.run(
        ["man", "--nh", "--nj", "-P", "cat", str(page)],
        env={**os.environ, "MANWIDTH": "10000", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""},
        capture_output=True,
        check=False,
    ).stdout.decode(errors="replace")
    return "\n".join(line.strip() for line in shown.splitlines()[1:-1])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
