"""Rows of a task of one sentence at a time: sentences in a random order, to be written in that of their first words.

    python recipes/papers/small/ordered.py OUT

writes OUT/train.jsonl, validation.jsonl and test.jsonl. A document has six sentences of seven words; the first is a
numeral, the same six in every document. Every word of the summary depends on one sentence of the document.
"""

import argparse
import json
import random
from itertools import product
from pathlib import Path

SENTENCES, WORDS = 6, 6
ROWS = {"train": 6000, "validation": 200, "test": 200}
_SYLLABLES = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]


def main() -> None:
    """Write the splits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    words = ["".join(pair) for pair in draw.sample(list(product(_SYLLABLES, repeat=2)), 64)]
    numerals = ["One", "Two", "Three", "Four", "Five", "Six"]
    for split, count in ROWS.items():
        lines = []
        for number in range(count):
            sentences = [" ".join([numeral, *draw.choices(words, k=WORDS)]) + "." for numeral in numerals]
            shuffled = draw.sample(sentences, SENTENCES)
            row = {"id": f"{split}-{number}", "document": " ".join(shuffled), "summary": " ".join(sentences)}
            lines.append(json.dumps(row) + "\n")
        (out / f"{split}.jsonl").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
