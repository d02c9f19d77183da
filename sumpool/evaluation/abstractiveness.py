"""Reference-free measures of a summary: copying from the document, unsupported facts, repetition."""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

from sumpool.text.fragments import Overlap, overlap
from sumpool.text.language import split_words

_FACT = re.compile(r"(?<!\w)(?:\w*\d\w*|\w*[A-Z]\w*[A-Z]\w*|(?<=[\w,;)] )[A-Z]\w*)(?!\w)", re.ASCII)
"""Word with a digit, word with two capitals, or capitalised word within a sentence."""


@dataclass(frozen=True)
class Copying:
    """Overlap of a summary with its document.

    Attributes:
        leak: Fraction of 8-grams that occur in the document.
        facts: Count of numbers and names, recognised by their spelling.
        unsupported: Count of facts that do not occur in the document.
    """

    leak: float
    facts: int
    unsupported: int


def copying(
    summaries: Sequence[str], document_words: Sequence[str], tokenize: Callable[[str], list[str]] = split_words
) -> list[Copying]:
    """Compare summaries of a document with it.

    Args:
        summaries: The summaries, compared in one pass over the document.
        document_words: The document's words by `tokenize`.
        tokenize: Tokenizer without stemming.
    """
    split_summaries = [tokenize(summary) for summary in summaries]
    # A line feed is never a word, so no shared sequence crosses two summaries.
    runs = overlap(document_words, list(chain.from_iterable([*summary, "\n"] for summary in split_summaries))).runs
    ends = list(accumulate(len(summary) + 1 for summary in split_summaries))
    vocabulary = set(document_words)
    copied = []
    for summary, (start, end) in zip(summaries, pairwise([0, *ends]), strict=True):
        shared = Overlap(runs[start : end - 1])
        facts = (len(_FACT.findall(summary)), len(unsupported_facts(summary, vocabulary)))
        copied.append(Copying(shared.leak, *facts))
    return copied


def unsupported_facts(summary: str, vocabulary: Set[str]) -> list[str]:
    """Return the numbers and names of a summary that are not among the words of its document, in order."""
    # An identifier such as x86_64 is several words.
    return [fact for fact in _FACT.findall(summary) if not vocabulary >= set(split_words(fact))]


def repetition(summary: str, tokenize: Callable[[str], list[str]] = split_words) -> float:
    """Return the fraction of trigrams that occurred earlier in the summary; 0 without trigrams."""
    tokens = tokenize(summary)
    trigrams = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return 1 - len(set(trigrams)) / len(trigrams) if trigrams else 0.0
