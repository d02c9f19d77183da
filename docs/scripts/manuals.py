"""Manual pages of this machine as out-of-domain documents for a model of RFCs.

    python docs/scripts/manuals.py manuals 130
    sumpool summarize manuals/documents.jsonl --model RUN --out manuals/summaries.jsonl
    sumpool evaluate manuals/summaries.jsonl --references manuals/references.jsonl

The reference summary of a page is the first paragraph of its description, which is removed from the document. The pages
depend on the machine; `recipes/outside/manuals.py` takes those of named packages and divides them into halves.
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
"""Words of a reference summary."""
SHORTEST = 400
"""Fewest words of a document."""


def main(folder: Path, wanted: int) -> None:
    """Write a number of suitable pages, evenly spaced by name, to two JSON lines files."""
    pages = sorted(path for section in SECTIONS for path in (ROOT / section).glob("*.gz") if not path.is_symlink())
    folder.mkdir(parents=True, exist_ok=True)
    tried = 10 * wanted  # about one in nine is suitable
    spread = (pages[place * len(pages) // tried] for place in range(tried))
    with (folder / "documents.jsonl").open("w") as documents, (folder / "references.jsonl").open("w") as references:
        for number, (name, document, reference) in enumerate(suitable(dict.fromkeys(spread)), 1):
            documents.write(json.dumps({"id": name, "document": document}) + "\n")
            references.write(json.dumps({"id": name, "document": document, "summary": reference}) + "\n")
            if number == wanted:
                break


def suitable(pages: Iterator[Path] | dict[Path, None]) -> Iterator[tuple[str, str, str]]:
    """Yield name, document and reference of the pages in which both have the required length."""
    for page in pages:
        text = plain(page)
        description = re.search(r"\nDESCRIPTION\n+(.+?)\n\n", text, re.DOTALL)
        if not description or (
            "\n       " in description[1] and re.search(r"\S {3,}\S", description[1])
        ):  # a table or a list
            continue
        reference = " ".join(description[1].split())
        rest = text[: description.start(1)] + text[description.end(1) :]
        if len(reference.split()) in REFERENCE and len(rest.split()) >= SHORTEST and reference.endswith("."):
            yield page.name.removesuffix(".gz"), rest, reference


def plain(page: Path) -> str:
    """Return a page as text, one line per paragraph, without page headers."""
    shown = subprocess.run(
        ["man", "--nh", "--nj", "-P", "cat", str(page)],
        env={**os.environ, "MANWIDTH": "10000", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""},
        capture_output=True,
        check=False,
    ).stdout.decode(errors="replace")
    return "\n".join(line.strip() for line in shown.splitlines()[1:-1])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
