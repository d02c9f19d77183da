"""What costs no training: beginnings of documents, their most central sentences, and the best that copying can reach.

LexRank takes the sentences that a walk over the document visits most, from each sentence to others by their likeness,
the cosine of their tf-idf vectors (Erkan and Radev, 2004, section 3.3, continuous). As every cosine counts, the walk
goes by the words, from sentences to words and back, and no matrix of sentences by sentences is made.

The oracle sees the reference, and takes the sentences that agree with it most.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from sumpool.evaluation.rouge_agreement import Agreement
from sumpool.text.sentences import join

_WORD = re.compile(r"\S+")
_DAMPING = 0.85
"""Share of the steps of the walk that go by likeness; the others go anywhere."""
_STEPS = 50
"""Steps of the walk: what they have not settled is below 0.85 ** 50 = .0003."""


def lead(text: str, words: int) -> str:
    """Cut the beginning out of a document, its paragraphs kept.

    Args:
        text: The document.
        words: Words, separated by white space, to take; a shorter document is taken whole.
    """
    taken = list(islice(_WORD.finditer(text), words))
    return text[taken[0].start() : taken[-1].end()] if taken else ""


def lead_sentences(sentences: Sequence[str], count: int) -> str:
    """Join the first sentences of a document."""
    return join(sentences[:count])


def lexrank(sentences: Sequence[str], words: int, tokenize: Callable[[str], list[str]]) -> str:
    """Join the most central sentences of a document, in its order, and cut what is beyond a number of words.

    Args:
        sentences: The document.
        words: Words, separated by white space, to take; a shorter document is taken whole.
        tokenize: Cuts a text into the words that are compared.
    """
    rank = _centrality([Counter(tokenize(sentence)) for sentence in sentences])
    taken, missing = [], words
    for place in np.argsort(-rank, kind="stable").tolist():
        if missing <= 0:
            break
        taken.append(place)
        missing -= len(sentences[place].split())
    return lead(join([sentences[place] for place in sorted(taken)]), words)


def _centrality(sentences: Sequence[Counter[str]]) -> NDArray[np.float64]:
    """Find how often the walk visits each sentence (sentences,), from the counts of its words."""
    column = {word: place for place, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)))}
    row = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
    word = np.array([column[each] for sentence in sentences for each in sentence], dtype=np.int64)
    counts = np.array([count for sentence in sentences for count in sentence.values()], dtype=np.float64)
    weight = counts * np.log(len(sentences) / np.maximum(np.bincount(word, minlength=len(column)), 1))[word]
    weight /= np.maximum(np.sqrt(np.bincount(row, weight**2, len(sentences))), 1e-12)[row]

    def walk(visits: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.bincount(word, weight * visits[row], len(column))
        return np.bincount(row, weight * found[word], len(sentences)).astype(np.float64)

    likeness = np.maximum(walk(np.ones(len(sentences))), 1e-12)  # of each sentence to all
    even = np.full(len(sentences), 1 / max(len(sentences), 1))
    visits = even
    for _ in range(_STEPS):
        visits = (1 - _DAMPING) * even + _DAMPING * walk(visits / likeness)
    return visits


def oracle(sentences: Sequence[str], reference: str, count: int, tokenize: Callable[[str], list[str]]) -> str:
    """Join the sentences that, taken greedily, agree with the reference most.

    Args:
        sentences: The document.
        reference: What to agree with.
        count: Most sentences to take.
        tokenize: Cuts a text into the words that ROUGE compares.

    Returns:
        The sentences in the order of the document; empty where no sentence shares a word with the reference.
    """
    taken = Agreement([reference], tokenize).take(sentences, count)
    return join([sentences[place] for place in taken])
