"""ROUGE of LEAD, LexRank, TextRank and random sentences on corpora of this folder, as a Markdown table.

python recipes/outside/baselines.py OUT KIND ... [--half test] [--words 75 130]
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from common import HALVES, Row, read_corpus

from sumpool.evaluation.rouge import Rouge
from sumpool.evaluation.scorer import lexrank, random_ranks, take_sentences, textrank
from sumpool.text.sentences import SentenceSplitter

_SHOWN = ("rouge1", "rouge2", "rougeLsum")


def main() -> None:
    """Print a row per kind and baseline with ROUGE-1, -2 and -Lsum (F1, stemmed) at each length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("kinds", nargs="+")
    parser.add_argument("--half", choices=HALVES, default="test")
    parser.add_argument("--words", type=int, nargs="+", default=[75, 130])
    arguments = parser.parse_args()
    lengths = arguments.words
    print(f"| kind | system | {' | '.join(f'{words} words' for words in lengths)} |\n|---|---|{'---|' * len(lengths)}")
    for kind in arguments.kinds:
        for line in table(kind, read_corpus(arguments.out / kind / f"{arguments.half}.jsonl"), lengths):
            print(line, flush=True)


def table(kind: str, rows: Sequence[Row], lengths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of the table for a corpus."""
    splitter = SentenceSplitter()
    rouge = Rouge()
    totals: dict[tuple[str, int, str], float] = defaultdict(float)
    for row in rows:
        for system, words, summary in baselines(row, splitter.split(row.document), rouge, lengths):
            for name, score in rouge.score(summary, row.summary).items():
                totals[system, words, name] += score.f1
    for system in ("LEAD", "LexRank", "TextRank", "random"):
        cells = [
            " / ".join(f"{100 * totals[system, words, name] / len(rows):.1f}" for name in _SHOWN) for words in lengths
        ]
        yield f"| {kind} | {system} | {' | '.join(cells)} |"


def baselines(
    row: Row, sentences: Sequence[str], rouge: Rouge, lengths: Sequence[int]
) -> Iterator[tuple[str, int, str]]:
    """Yield system, length and summary of a document; the sentences are ranked once."""
    tokenizer = rouge.tokenizer
    tokens = [tokenizer.tokenize(sentence) for sentence in sentences]
    ranks = {"LexRank": lexrank(tokens), "TextRank": textrank(tokens), "random": random_ranks(row.id, len(sentences))}
    for words in lengths:
        yield "LEAD", words, tokenizer.first_words(row.document, words)
        for system, values in ranks.items():
            yield system, words, take_sentences(sentences, values, words, tokenizer)


if __name__ == "__main__":
    main()
