"""Measure `summarize --focus`: how often a question made from a heading finds the section under it.

    python docs/scripts/focus.py FILE... [--headings 3] [--hide] [--misses]

Asked is "What about HEADING?" for headings of each document, drawn by their SHA-256, that no other section has, with at
least two sentences of prose and less than half of the document under them. A hit is a sentence of prose of that
section, of its subsections too, among the first three of the summary; headings are never part of it. `--hide` takes the
words of the heading out, so that only the text of the section can tell. Summaries are those of `--fast --focus`.
Printed are the hits by kind of file, with 95 % intervals of Wilson.
"""

import argparse
import hashlib
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from sumpool.documents.document import Document, document_title
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import SHIPPED
from sumpool.ranking.selection import find_candidates, heading_key
from sumpool.text.language import ENGLISH, content_prefixes, split_words

_FIRST = 3
_Z = 1.96


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--headings", type=int, default=3, help="questions of a document")
    parser.add_argument("--hide", action="store_true", help="hide the heading")
    parser.add_argument("--misses", action="store_true", help="print the questions without a hit")
    options = parser.parse_args()
    hits: dict[str, list[bool]] = {}
    for name in options.files:
        kind = name.removesuffix(".gz").rpartition(".")[2]
        for document in read_documents(name):
            for key, start, end, sentences in _questions(document, options.headings):
                first = _first_sentences(document, f"What about {key}?", sentences, start if options.hide else None)
                hit = any(start < index < end for index in first)
                hits.setdefault("manual" if kind.isdigit() else kind, []).append(hit)
                if options.misses and not hit:
                    sys.stdout.write(f"{document.id}: {key}: {[sentences[index].text[:80] for index in first]}\n")
    for kind, found in [*hits.items(), ("all", [hit for each in hits.values() for hit in each])]:
        low, high = _wilson(sum(found), len(found))
        sys.stdout.write(
            f"{kind}: {sum(found)} of {len(found)}, {sum(found) / len(found):.1%} [{low:.1%}, {high:.1%}]\n"
        )


def _pipeline(focus: str = "") -> Pipeline:
    return Pipeline.open(RunFiles.open(SHIPPED, ["summarize.fast=true", f"summarize.focus={json.dumps(focus)}"]))


def _questions(document: Document, most: int) -> Iterator[tuple[str, int, int, tuple[SourceSentence, ...]]]:
    """Yield headings of a document: the question, and its sentences with the first and the last of the section."""
    reading = _pipeline().read(document)
    sentences, candidates = reading.sentences, find_candidates(reading.sentences)
    headings = [index for index, sentence in enumerate(sentences) if sentence.kind == "heading"]
    keys = {index: heading_key(split_words(sentences[index].text)) for index in headings}
    counts = Counter(keys.values())
    found = []
    for index in headings:
        level = _level(document, sentences[index])
        end = next((i for i in headings if i > index and _level(document, sentences[i]) <= level), len(sentences))
        size = sum(index < candidate < end for candidate in candidates)
        is_title = keys[index] == heading_key(split_words(document_title(document)))
        is_fair = 2 <= size < len(candidates) / 2 and counts[keys[index]] == 1 and not is_title
        if reading.language == ENGLISH and is_fair and content_prefixes(keys[index].split()):
            found.append((keys[index], index, end, sentences))
    yield from sorted(found, key=lambda each: hashlib.sha256(f"{document.id}/{each[0]}".encode()).digest())[:most]


def _level(document: Document, sentence: SourceSentence) -> int:
    return document.blocks[sentence.block].level if document.blocks else 1


def _first_sentences(
    document: Document, question: str, sentences: tuple[SourceSentence, ...], hidden: int | None
) -> list[int]:
    if hidden is not None and document.blocks:
        block = sentences[hidden].block
        blocks = [replace(each, text="-") if index == block else each for index, each in enumerate(document.blocks)]
        document = replace(document, blocks=tuple(blocks), text="\n\n".join(each.text for each in blocks))
    (summary,) = _pipeline(question).summarize([document])
    return list(summary.indices[:_FIRST])


def _wilson(hits: int, count: int) -> tuple[float, float]:
    share, spread = hits / count, _Z**2 / count
    middle, half = share + spread / 2, _Z * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


if __name__ == "__main__":
    main()
