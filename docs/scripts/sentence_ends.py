"""Compare sentence splitters on treebanks of Universal Dependencies, whose sentences people have divided.

    python docs/scripts/sentence_ends.py de_pud-ud-test.conllu fr_pud-ud-test.conllu ...

The language is the beginning of a file's name. Ten sentences in a row, those with an end mark, are joined to a
paragraph. Prints for each splitter that is installed (`pip install sentencex pysbd`) the F1 of sentence ends in percent
and the paragraphs without any error.
"""

import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from sumpool.text.sentences import SentenceSplitter

GROUP, MAX_SENTENCES = 10, 1500
UNSPACED = ("zh", "ja")
Split = Callable[[str], Iterable[str]]


def main() -> None:
    """Print a table with a row per treebank."""
    for number, name in enumerate(sys.argv[1:]):
        code = Path(name).name.partition("_")[0]
        known = splitters(code)
        if not number:
            sys.stdout.write(f"| treebank | {' | '.join(known)} |\n|---{'|---:' * len(known)}|\n")
        groups = list(paragraphs(Path(name)))
        cells = [cell(split, groups, "" if code in UNSPACED else " ") for split in known.values()]
        sys.stdout.write(f"| {Path(name).stem.removesuffix('-ud-test')} | {' | '.join(cells)} |\n")


def splitters(code: str) -> dict[str, Split]:
    """Return the splitters for a language by name."""
    found: dict[str, Split] = {"sumpool": SentenceSplitter(code).split}
    with suppress(ImportError):
        import sentencex

        found["sentencex"] = lambda text: sentencex.segment(code, text)
    with suppress(ImportError):
        import pysbd

        segmenter = pysbd.Segmenter(code if code in pysbd.languages.LANGUAGE_CODES else "en", clean=False)
        found["pysbd"] = segmenter.segment
    return found


def paragraphs(path: Path) -> Iterator[list[str]]:
    """Yield the sentences of a treebank in groups."""
    lines = (line[9:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# text = "))
    sentences = [" ".join(line.split()) for line in lines if unicodedata.category(line.rstrip()[-1]).startswith("P")]
    for start in range(0, min(len(sentences), MAX_SENTENCES), GROUP):
        yield sentences[start : start + GROUP]


def cell(split: Split, groups: list[list[str]], space: str) -> str:
    """Return F1 and the paragraphs that are split as people have."""
    found = expected = right = exact = 0
    for group in groups:
        ends, truth = places(split(space.join(group))), places(group)
        found, expected, right = found + len(ends), expected + len(truth), right + len(ends & truth)
        exact += ends == truth
    return f"{200 * right / max(found + expected, 1):.1f} ({exact}/{len(groups)})"


def places(sentences: Iterable[str]) -> set[int]:
    """Return the ends of all sentences but the last, in characters without spaces."""
    total, ends = 0, []
    for sentence in sentences:
        total += len("".join(sentence.split()))
        ends.append(total)
    return set(ends[:-1])


if __name__ == "__main__":
    main()
