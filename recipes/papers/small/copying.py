"""Rows of a copy task as JSON lines: phrases of content words among filler words, to be copied in their order.

    python recipes/papers/small/copying.py OUT

writes OUT/train.jsonl, validation.jsonl and test.jsonl. A document has 240 words, 32 of them content words in phrases
of two to six at random places; the summary is the phrases. The words of both classes are made of syllables and are
equally frequent within their class, so that only training tells which to keep.
"""

import argparse
import json
import random
from itertools import product
from pathlib import Path

WORDS, CONTENT = 240, 32
ROWS = {"train": 6000, "validation": 200, "test": 200}
_SYLLABLES = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]


def row(draw: random.Random, content: list[str], filler: list[str]) -> dict[str, str]:
    """Draw a document and its phrases."""
    lengths: list[int] = []
    while sum(lengths) < CONTENT:
        lengths.append(min(draw.randint(2, 6), CONTENT - sum(lengths)))
    places = sorted(draw.sample(range(WORDS - CONTENT), len(lengths)))  # after so many filler words
    words, summary, written = [], [], 0
    for length, place in zip(lengths, places, strict=True):
        words += draw.choices(filler, k=place - written)
        written = place
        phrase = draw.choices(content, k=length)
        words += phrase
        summary += phrase
    words += draw.choices(filler, k=WORDS - len(words))
    return {"document": " ".join(words), "summary": " ".join(summary)}


def main() -> None:
    """Write the splits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    words = ["".join(pair) for pair in draw.sample(list(product(_SYLLABLES, repeat=2)), 128)]
    for split, count in ROWS.items():
        rows = ({"id": f"{split}-{number}", **row(draw, words[:64], words[64:])} for number in range(count))
        (out / f"{split}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")


if __name__ == "__main__":
    main()
