"""Self-supervised pretraining tasks, which take only the documents of a source.

`gap_sentences` is gap-sentence generation (Zhang et al., 2020, "PEGASUS", arXiv:1912.08777, section 3.1): the sentences
that agree most with the rest of a document, by the F1 of their words, are removed and stand in for its summary
("Ind-Orig"). Departures: documents are cut into windows, so that a long one gives many examples; removed sentences are
not marked by a mask token, as user documents have none; and sentences are removed up to a number of words, so that
targets are about as long as summaries.

`shuffled` is sentence permutation (Lewis et al., 2020, "BART", section 2.2): shuffled sentences are restored to their
order. All words of the target occur in the input, so cross-attention is learnt in minutes, where summaries alone take
days.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from sumpool.data.config import Example, GapSentencesConfig, Reject, ShuffledConfig
from sumpool.text.language import split_words
from sumpool.text.sentences import SentenceSplitter, join

Item = TypeVar("Item")

_GAP_SENTENCE_WORDS = range(6, 61)
"""Sentences of other lengths are mostly headings, drawings and lists; they are never removed."""
_WINDOW_WORDS_PER_GAP_WORD = 3
"""Minimum words of a window per word of `GapSentencesConfig.words`."""
_MIN_PASSAGE_SENTENCES = 3
"""Two sentences are in order by chance every other time."""
_PASSAGE_SENTENCE_WORDS = range(4, 31)
"""Sentences of other lengths are mostly headings, drawings and lists; they are left out."""


def excerpts(task: GapSentencesConfig | ShuffledConfig, rows: Iterable[Example | Reject]) -> list[Example | Reject]:
    """Replace documents by excerpts, named after the document and their index; rejected rows are passed on."""
    splitter = SentenceSplitter()
    made: list[Example | Reject] = []
    for row in rows:
        if isinstance(row, Reject):
            made.append(row)
            continue
        sentences = splitter.split(row.document)
        if isinstance(task, GapSentencesConfig):
            pairs = islice(_gap_sentences(sentences, task), task.windows)
        else:
            pairs = islice(_shuffled_sentences(row.id, sentences, task), task.passages)
        made += [Example(f"{row.id}#{index}", *pair, row.split) for index, pair in enumerate(pairs)]
    return made


def _gap_sentences(sentences: list[str], config: GapSentencesConfig) -> Iterator[tuple[str, str]]:
    """Cut a document into windows; yield each without its principal sentences, and these."""
    for window in grouped(sentences, lambda sentence: len(sentence.split()), config.window):
        gaps = set(principal_sentences(window, config.words))
        if gaps and sum(len(sentence.split()) for sentence in window) >= _WINDOW_WORDS_PER_GAP_WORD * config.words:
            rest = (sentence for index, sentence in enumerate(window) if index not in gaps)
            yield join(rest, paragraph="\n\n"), " ".join(window[index].strip() for index in sorted(gaps))


def _shuffled_sentences(name: str, sentences: list[str], config: ShuffledConfig) -> Iterator[tuple[str, str]]:
    """Cut a document into passages; yield each with its sentences shuffled, by its name and index, and in order."""
    for index, passage in enumerate(_passages(sentences, config.words)):
        shuffled = random.Random(f"{name}#{index}").sample(passage, len(passage))
        yield " ".join(shuffled), " ".join(passage)


def principal_sentences(sentences: Sequence[str], words: int) -> list[int]:
    """Return the indices of the sentences that agree most with all others, each scored independently, best first.

    Args:
        sentences: Sentences of a document.
        words: Maximum words of the result; the best sentence is always included.
    """
    counts = [Counter(split_words(sentence)) for sentence in sentences]
    document = sum(counts, Counter[str]())
    agreement: dict[int, float] = {}  # F1 of the words of a sentence as a summary of the others
    for index, count in enumerate(counts):
        if len(sentences[index].split()) in _GAP_SENTENCE_WORDS:
            others = document - count
            agreement[index] = 2 * (count & others).total() / max(count.total() + others.total(), 1)
    principal: list[int] = []
    for index in sorted(agreement, key=lambda index: (-agreement[index], index)):
        size = len(sentences[index].split())
        if principal and size > words:
            break
        principal.append(index)
        words -= size
    return principal


def grouped(items: Iterable[Item], measure: Callable[[Item], int], least: int) -> Iterator[list[Item]]:
    """Group consecutive items until the sum of their sizes reaches the least one; the last group may be smaller."""
    group: list[Item] = []
    size = 0
    for item in items:
        group.append(item)
        size += measure(item)
        if size >= least:
            yield group
            group, size = [], 0
    if group:
        yield group


def _passages(sentences: Sequence[str], words: int) -> Iterator[list[str]]:
    """Group consecutive sentences into passages of at most the given number of words."""
    passage: list[str] = []
    size = 0
    for sentence in sentences:
        length = len(sentence.split())
        if length not in _PASSAGE_SENTENCE_WORDS:
            continue
        if size + length > words:
            if len(passage) >= _MIN_PASSAGE_SENTENCES:
                yield passage
            passage, size = [], 0
        passage.append(sentence.strip())
        size += length
    if len(passage) >= _MIN_PASSAGE_SENTENCES:
        yield passage
