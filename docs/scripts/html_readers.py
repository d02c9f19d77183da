"""Compare readers of HTML on the checked pages of docs/format-coverage: `python -m docs.scripts.html_readers FOLDER`.

FOLDER holds the packages of the pages. Readers that are not installed are passed over (pip install trafilatura
selectolax). Each cell is the share of the page's words that came through in order, the words that are not in the
checked text (pages that are checked as a whole), and the milliseconds, median of 7.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from importlib import import_module
from pathlib import Path

from docs.scripts.format_coverage import GOLD, package_file, read_gold, words
from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats.html import parse

_ROUNDS = 7


def sumpool(content: bytes) -> str:
    """Read with the format of this package."""
    return "\n".join(block.text for block in parse(content, DEFAULT_OPTIONS).blocks)


def trafilatura(content: bytes) -> str:
    """Read with trafilatura, favouring recall, with tables."""
    text = import_module("trafilatura").extract(content, favor_recall=True, include_tables=True, include_comments=False)
    return str(text or "")


def selectolax(content: bytes) -> str:
    """Read all text with selectolax, without scripts, styles, navigation, headers and footers by element."""
    tree = import_module("selectolax.lexbor").LexborHTMLParser(content)
    tree.strip_tags(["script", "style", "nav", "header", "footer", "aside", "form", "noscript", "template"])
    return str(tree.body.text(separator="\n"))


def lxml(content: bytes) -> str:
    """Read all text with lxml, without scripts and styles."""
    page = import_module("lxml.html").document_fromstring(content)
    for element in page.xpath("//script | //style | //head"):
        element.drop_tree()
    return "\n".join(str(text) for text in page.itertext())


READERS: tuple[Callable[[bytes], str], ...] = (sumpool, trafilatura, selectolax, lxml)


def rows(folder: Path) -> Iterator[str]:
    """Yield the rows of the table, in Markdown, and one with the sums and medians."""
    yield "| page | words | " + " | ".join(reader.__name__ for reader in READERS) + " |"
    yield "|---|---:|" + "---:|" * len(READERS)
    totals: dict[str, list[tuple[int, int, float]]] = {reader.__name__: [] for reader in READERS}
    count = 0
    for path in sorted(GOLD.glob("html-*.txt")):
        gold = read_gold(path)
        content, expected = package_file(folder, gold), words(gold.text)
        count += len(expected)
        cells = []
        for reader in READERS:
            try:
                read, extra, milliseconds = measure(reader, content, expected)
            except ImportError:
                cells.append("")
                continue
            extra = 0 if gold.part == "all" else extra
            totals[reader.__name__].append((read, extra, milliseconds))
            cells.append(f"{100 * read / len(expected):.1f} %, {extra}, {milliseconds:.0f} ms")
        yield f"| {path.stem} | {len(expected)} | " + " | ".join(cells) + " |"
    yield f"| all | {count} | " + " | ".join(summary(results, count) for results in totals.values()) + " |"


def measure(reader: Callable[[bytes], str], content: bytes, expected: list[str]) -> tuple[int, int, float]:
    """Return the words that came through in order, the other words, and milliseconds."""
    seconds = []
    text = ""
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        text = reader(content)
        seconds.append(time.perf_counter() - start)
    actual = words(text)
    matches = SequenceMatcher(None, expected, actual, autojunk=False).get_matching_blocks()
    read = sum(match.size for match in matches)
    return read, len(actual) - read, 1000 * statistics.median(seconds)


def summary(results: list[tuple[int, int, float]], count: int) -> str:
    """Return the share of all words, the sum of the other words and the median of milliseconds."""
    if not results:
        return "not installed"
    read, extra, milliseconds = zip(*results, strict=True)
    return f"{100 * sum(read) / count:.2f} %, {sum(extra)}, {statistics.median(milliseconds):.0f} ms"


if __name__ == "__main__":
    for row in rows(Path(sys.argv[1])):
        sys.stdout.write(f"{row}\n")
