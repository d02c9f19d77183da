"""One bounded, repeatable sample of a stream of texts, for whatever learns from raw text."""

import random
from collections.abc import Iterable, Iterator

from sumpool.text.cleaning import clean, paragraphs

_SEED = 20_000_003


def sample_lines(texts: Iterable[str], lines: int, longest: int) -> list[str]:
    """Draw paragraphs from texts of any number, keeping at most `lines` of them in memory.

    Args:
        texts: Documents, read once.
        lines: Most lines to keep; with fewer in the texts all are kept, in order.
        longest: Characters of a line; a longer paragraph becomes several lines, so that none is left out.
    """
    return sample(_lines(texts, longest), lines)


def sample(lines: Iterable[str], most: int) -> list[str]:
    """Draw lines; with no more than `most` of them all are kept, in order.

    Args:
        lines: Any number, read once.
        most: Lines that are kept, and held in memory.
    """
    generator = random.Random(_SEED)
    kept: list[str] = []
    for seen, line in enumerate(lines):
        if len(kept) < most:
            kept.append(line)
        elif (place := generator.randrange(seen + 1)) < most:
            kept[place] = line
    return kept


def _lines(texts: Iterable[str], longest: int) -> Iterator[str]:
    for text in texts:
        for paragraph in paragraphs(clean(text)):
            start = 0
            while len(paragraph) - start > longest:
                space = paragraph.rfind(" ", start + 1, start + longest)
                end = space if space > 0 else start + longest
                yield paragraph[start:end]
                start = end
            yield paragraph[start:]
