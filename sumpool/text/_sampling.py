"""Reservoir sampling of lines, with a fixed seed, for training on streams of any length."""

import random
from collections.abc import Iterable, Iterator

from sumpool.text.cleaning import clean, paragraphs

_SEED = 20_000_003


def sample_paragraphs(texts: Iterable[str], max_lines: int, max_characters: int) -> list[str]:
    """Sample paragraphs of documents.

    Args:
        texts: Documents, read once.
        max_lines: Lines to keep; of fewer all are kept, in order.
        max_characters: Length of a line; longer paragraphs are split into several lines.
    """
    return reservoir_sample(_lines(texts, max_characters), max_lines)


def reservoir_sample(lines: Iterable[str], max_lines: int) -> list[str]:
    """Sample lines uniformly, in memory for `max_lines` of them; of fewer all are kept, in order."""
    generator = random.Random(_SEED)
    sample: list[str] = []
    for index, line in enumerate(lines):
        if len(sample) < max_lines:
            sample.append(line)
        elif (slot := generator.randrange(index + 1)) < max_lines:
            sample[slot] = line
    return sample


def _lines(texts: Iterable[str], max_characters: int) -> Iterator[str]:
    for text in texts:
        for paragraph in paragraphs(clean(text)):
            start = 0
            while len(paragraph) - start > max_characters:
                space = paragraph.rfind(" ", start + 1, start + max_characters)
                end = space if space > 0 else start + max_characters
                yield paragraph[start:end]
                start = end
            yield paragraph[start:]
