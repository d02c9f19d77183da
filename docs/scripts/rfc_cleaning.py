"""Count the words of RFCs that the cleaning keeps, and the sentences among what it removes.

    python docs/scripts/rfc_cleaning.py rfc-corpus
    python docs/scripts/rfc_cleaning.py rfc-corpus --worst 50

Counted as removed sentences are drawings and fragments that read as prose: at least eight words, a quarter of them
function words. A drawing must end as a sentence does; headings, captions, list items and legal notices do not count.
What remains of them are mostly rows of tables, comments of grammars, and forms.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sumpool.data.sources._rfc_series import series_files
from sumpool.documents.plain_text.drawings import lacks_punctuation, reads_as_prose
from sumpool.documents.plain_text.lines import unwrap
from sumpool.documents.rfc import SECTION_NUMBER, RfcBlock, classify_blocks

_CAPTION = re.compile(r"\s*(?:Figure|Table|Fig\.|[-o*+] )", re.IGNORECASE)
"""Start of captions and list items."""


def main() -> None:
    """Print the counts over all RFCs of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="folder or archive of RFCs")
    parser.add_argument("--worst", type=int, default=0, help="RFCs with the most removed sentences to list")
    arguments = parser.parse_args()
    rows = list(_counts(arguments.path))
    _print(f"RFCs {len(rows):,}")
    _print(
        f"words of the texts {sum(given for _, given, _, _ in rows):,}, kept {sum(kept for _, _, kept, _ in rows):,}"
    )
    affected = [row for row in rows if row[3]]
    _print(f"RFCs with removed sentences {len(affected):,}, words of these {sum(row[3] for row in affected):,}")
    for number, given, kept, lost in sorted(affected, key=lambda row: -row[3])[: arguments.worst]:
        _print(f"RFC{number}: {given:,} words, {kept:,} kept, {lost:,} in removed sentences")


def _counts(path: Path) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, words, kept words and words of removed sentences of each RFC."""
    for file in series_files(path, "txt"):
        kept = lost = 0
        text = file.content.decode(errors="replace")
        for block in classify_blocks(text):
            words = len(unwrap(block.lines).split())
            kept += words if block.part == "prose" else 0
            lost += words if _is_removed_sentence(block) else 0
        yield file.number, len(text.split()), kept, lost


def _is_removed_sentence(block: RfcBlock) -> bool:
    line = block.lines[0]
    ends = not lacks_punctuation(block.lines[-1])
    if block.part == "fragment":
        return not ends and reads_as_prose(block.lines) and not SECTION_NUMBER.match(line) and not _CAPTION.match(line)
    return block.part == "drawing" and ends and reads_as_prose(block.lines)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
