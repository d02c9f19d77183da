"""Candidates of a summary, and their selection: by score less redundancy, to a length, or by expected n-grams.

The expectation of a word, or of a pair of words, combines the share of the sampled summaries that have it with the
score of the best sentence that has it; without samples it is the score alone. Sentences are selected while the expected
F1 of ROUGE-1 and ROUGE-2 rises. An n-gram counts once however often it is selected, so that redundancy needs no
penalty, and the length of a summary follows from the expectations (coverage of weighted concepts: Gillick and Favre,
2009; Li, Qian and Liu, 2013).

A table of contents, the headings of the sections whose sentences readers want most, stands where no sentence says what
a document is about, as in guides, terms or questions and answers (docs/ranking.md).
"""

import math
from bisect import bisect
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.document import Document, document_title
from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.language import (
    ENGLISH,
    FULL_WIDTH,
    content_words,
    languages,
    separator,
    split_words,
    word_count,
)
from sumpool.text.prose import PROSE_KINDS, capitalise, tidy_sentence
from sumpool.text.word_graph import Values

if TYPE_CHECKING:
    from sumpool.core.decoding.config import LengthTarget

_REDUNDANCY: Final = 0.2
"""Penalty of a sentence whose content words are all in the selected ones, on the scale of marks."""
_MIN_WORDS = 4
"""Words of a candidate."""
OVERRUN: Final = 1.1
"""Words of a selection at most, relative to the budget."""

_USUAL_WORDS = ((1_000, 60), (2_600, 100), (20_000, 100), (160_000, 250))
"""Words of documents, and of their summaries: further sentences of a paper are details to readers, those of a book are
other chapters."""
_MAX_CELLS = 10_000_000
"""Numbers that are stored at most to find the selection of the closest length."""
_PAIRED_CANDIDATES = 40
"""Candidates of the first sentence of a pair that replaces one."""

_SHARE: Final = 0.4
"""Expectation of an n-gram that all samples have."""
_SCORE: Final = 0.8
"""Expectation of an n-gram per score of its best sentence."""
_ORDERS: Final = (1, 2)
"""Words of an n-gram."""
_EXPECTED_OVERRUN: Final = 1.4
"""Words of a selection at most, relative to those of the reference where these are given."""
_MAX_SENTENCES: Final = 12
"""Sentences of a selection at most."""
_MAX_CANDIDATES: Final = 24
"""Candidates at most, half of them by their scores and half by the samples, which bounds the time of long documents."""


def find_candidates(sentences: Sequence[SourceSentence]) -> list[int]:
    """Return the indices of the sentences of prose, which a summary may consist of."""
    return [
        index
        for index, sentence in enumerate(sentences)
        if sentence.kind in PROSE_KINDS and word_count(sentence.text) >= _MIN_WORDS
    ]


def select(
    texts: Sequence[str],
    scores: Values,
    words: int,
    language: str = ENGLISH,
    *,
    minimum: float = -math.inf,
    most_overlap: float = 1.0,
) -> list[int]:
    """Select candidates greedily by score less redundancy, until the budget is filled.

    Args:
        texts: Texts of the candidates.
        scores: Their scores, (candidates,).
        words: Words of the selection; the best candidate is selected even if it is longer.
        language: Code of their language.
        minimum: Score less redundancy of a further candidate at least, once half of the words are selected.
        most_overlap: Share of its content words at most that are in the selected ones.

    Returns:
        Indices of the selected candidates, best first.
    """

    @cache
    def content(index: int) -> frozenset[str]:  # of few candidates, as most have a score too low
        return content_words(texts[index], language)

    sizes = list(map(word_count, texts))
    ranked = np.argsort(-scores, kind="stable").tolist()
    selected: list[int] = []
    covered: set[str] = set()
    used = 0
    while True:
        best, best_score = -1, -math.inf
        for index in ranked:
            if scores[index] <= best_score:
                break
            if index in selected or (selected and used + sizes[index] > OVERRUN * words):
                continue
            overlap = len(content(index) & covered) / max(len(content(index)), 1)
            score = float(scores[index]) - _REDUNDANCY * overlap**2
            if score > best_score and overlap <= most_overlap:
                best, best_score = index, score
        if best < 0 or (best_score < minimum and used >= words / 2):
            return selected
        selected.append(best)
        used += sizes[best]
        covered |= content(best)


def usual_words(document_words: int) -> int:
    """Return the usual words of a summary by the words of its document, linear in their logarithm between points.

    A page has 60, a paper 100; from 20,000 words on, each doubling adds 50, up to 250 for a book.
    """
    logarithms, words = np.log([size for size, _ in _USUAL_WORDS]), [words for _, words in _USUAL_WORDS]
    return round(float(np.interp(np.log(max(document_words, 1)), logarithms, words)))


def adjust_length(
    selected: Sequence[int], sentences: Sequence[str], scores: Values, target: "LengthTarget"
) -> list[int]:
    """Adjust a selection to the length of a target.

    The last sentences are removed from one that is too long. Others are added by their scores to one that is too short.
    If none fits any more, a selected one, the last first, is replaced by one or two others; at last any selection is
    taken whose length comes closest.

    Args:
        selected: Indices of the selected sentences, the best first.
        sentences: All sentences.
        scores: Their scores, (sentences,).
        target: The length.

    Returns:
        Indices in document order; all sentences if they are too few or exactly enough, the shortest one if each is too
        long.
    """
    counts = np.array([1 if target.in_sentences else word_count(sentence) for sentence in sentences], np.int64)
    if counts.sum() <= target.maximum:
        return list(range(len(sentences)))
    kept = list(selected)
    while counts[kept].sum() > target.maximum:
        kept.pop()
    for candidate in np.argsort(-scores, kind="stable").tolist():
        total = counts[kept].sum()
        if total >= target.minimum:
            break
        if candidate not in kept and total + counts[candidate] <= target.maximum:
            kept.append(candidate)
    if counts[kept].sum() < target.minimum:
        kept = _exchange(scores, counts, kept, target) or _closest(scores, counts, target) or kept
    return sorted(kept) or [int(counts.argmin())]


def _exchange(scores: Values, counts: NDArray[np.int64], selected: Sequence[int], target: "LengthTarget") -> list[int]:
    """Replace one selected sentence by one or two others so that the length is met; empty if none can be."""
    others = [index for index in np.argsort(-scores, kind="stable").tolist() if index not in selected]
    singles: list[list[int]] = [[]]
    for beside in (singles, [[index] for index in others[:_PAIRED_CANDIDATES]]):
        for removed in reversed(selected):
            kept = [index for index in selected if index != removed]
            for first in beside:
                total = counts[[*kept, *first]].sum()
                for second in others:
                    if target.minimum <= total + counts[second] <= target.maximum and second not in first:
                        return [*kept, *first, second]
    return []


def _closest(scores: Values, counts: NDArray[np.int64], target: "LengthTarget") -> list[int]:
    """Return the selection with the highest sum of scores among those whose length is closest to the target.

    Documents for which this takes much memory get an empty selection.
    """
    room = target.maximum + target.amount
    if room * len(counts) > _MAX_CELLS:
        return []
    best = np.full(room + 1, -np.inf)  # by length
    best[0] = 0.0
    steps = [best]
    for score, count in zip(scores, counts.tolist(), strict=True):
        longer = np.full_like(best, -np.inf)
        if count <= room:
            longer[count:] = best[: room + 1 - count] + score
        best = np.maximum(best, longer)
        steps.append(best)
    reachable = np.flatnonzero(best > -np.inf)
    distance = np.abs(reachable - target.amount)
    distance[(reachable >= target.minimum) & (reachable <= target.maximum)] = 0
    nearest = reachable[distance == distance.min()]
    length = int(nearest[best[nearest].argmax()])
    selected = []
    for index, (before, after) in reversed(list(enumerate(pairwise(steps)))):
        if after[length] > before[length]:
            selected.append(index)
            length -= int(counts[index])
    return selected


def select_expected(
    texts: Sequence[str],
    scores: Values,
    samples: Sequence[str] = (),
    *,
    length: float | None = None,
    language: str = ENGLISH,
) -> list[int]:
    """Select sentences greedily while the expected F1 of the selection rises, summed over words and pairs of words.

    Args:
        texts: Texts of the candidates.
        scores: Scores of the candidates, see `Ranker.score`.
        samples: Sampled summaries; without any, scores alone say what is expected.
        length: Words of the reference, of which a selection has at most 1.4 times as many, or one sentence; None takes
            the mean of the samples, of which there must be one, and does not limit the selection.
        language: Code of the language of the texts.

    Returns:
        Indices of the selected candidates, best first; empty if no n-gram is expected.
    """
    # Imported here, as other documents do not need the tokenizers of ROUGE.
    from sumpool.evaluation.rouge import RougeTokenizer, UnicodeTokenizer

    # English keeps the tokenizer that begins faster; that of rouge-score finds no words of other scripts.
    tokenize = (RougeTokenizer if language == ENGLISH else UnicodeTokenizer)(stemmer=True).tokenize
    sampled = [tokenize(sample) for sample in samples]
    if samples:
        words = [tokenize(text) for text in texts]
        indices = _likely(words, scores, sampled)
        near = [words[index] for index in indices]
    else:  # the scores alone say which candidates are compared, and stemming takes longer than the rest
        indices = np.sort(np.argsort(-scores, kind="stable")[:_MAX_CANDIDATES])
        near = [tokenize(texts[index]) for index in indices]
    if length is not None and language != ENGLISH:  # a Chinese character is half a word, and a token
        length *= sum(map(len, near)) / max(sum(word_count(texts[index]) for index in indices), 1)
    tables = [_ExpectedNgrams(order, near, scores[indices], sampled, length) for order in _ORDERS]
    sizes = np.array([len(words) for words in near])
    longest = np.inf if length is None else _EXPECTED_OVERRUN * length
    selected: list[int] = []
    best = 0.0
    while len(selected) < min(_MAX_SENTENCES, len(indices)):
        values = np.sum([table.f1(selected) for table in tables], axis=0)
        values[selected] = -np.inf
        if selected:
            values[sizes + sizes[selected].sum() > longest] = -np.inf
        index = int(values.argmax())  # the first of equals
        if values[index] <= best:
            break
        best = float(values[index])
        selected.append(index)
    return [int(indices[index]) for index in selected]


@final
class _ExpectedNgrams:
    """N-grams of one order: sentences that have them, and their expectation."""

    def __init__(
        self,
        order: int,
        sentences: Sequence[Sequence[str]],
        scores: Values,
        samples: Sequence[Sequence[str]],
        length: float | None,
    ) -> None:
        texts = [_ngrams(words, order) for words in sentences]
        sampled = [_ngrams(words, order) for words in samples]
        share = np.full(len(sampled), 1 / max(len(sampled), 1))
        columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
        self._incidence = _incidence(texts, columns)  # (sentences, ngrams)
        best = np.where(self._incidence, np.maximum(scores, 0)[:, None], 0.0).max(axis=0, initial=0.0)
        self._expected = np.minimum(_SHARE * (share @ _incidence(sampled, columns)) + _SCORE * best, 1.0)
        self._sizes = np.array([len(text) for text in texts], np.float64)
        self._length = share @ [len(text) for text in sampled] if length is None else length + 1 - order

    def f1(self, selected: Sequence[int]) -> Values:
        """Return the expected F1 of the selection plus one more sentence, (sentences,)."""
        covered = self._incidence | self._incidence[list(selected)].any(axis=0)
        sizes = self._sizes + self._sizes[list(selected)].sum()
        return np.asarray(2 * (covered @ self._expected) / np.maximum(sizes + self._length, 1.0))


def _likely(sentences: Sequence[Sequence[str]], scores: Values, samples: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return the indices of the candidates with the highest scores and the highest mean share of samples, ascending."""
    if len(sentences) <= _MAX_CANDIDATES:
        return np.arange(len(sentences))
    agreement = np.zeros(len(sentences))
    for order in _ORDERS:
        known: dict[Hashable, float] = {}
        for words in samples:
            for ngram in set(_ngrams(words, order)):
                known[ngram] = known.get(ngram, 0.0) + 1 / len(samples)
        for index, words in enumerate(sentences):
            ngrams = set(_ngrams(words, order))
            agreement[index] += sum(known.get(ngram, 0.0) for ngram in ngrams) / max(len(ngrams), 1)
    half = _MAX_CANDIDATES // 2
    best = [np.argsort(-values, kind="stable")[:half] for values in (scores, agreement)]
    return np.unique(np.concatenate(best))


def _ngrams(words: Sequence[str], order: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(order)), strict=False))


def _incidence(texts: Sequence[Sequence[Hashable]], columns: dict[tuple[str, ...], int]) -> NDArray[np.bool_]:
    incidence = np.zeros((len(texts), len(columns)), np.bool_)
    for row, text in enumerate(texts):
        incidence[row, [columns[ngram] for ngram in text if ngram in columns]] = True
    return incidence


MIN_HEADINGS = 4
"""Headings of a table of contents; fewer do not help a reader."""
MANY_HEADINGS = 8
"""Sections of a document whose table of contents follows one sentence only; more headings are left out."""
_MAX_WORDS = 40
_MAX_HEADING_WORDS = 12
_FEW_SECTIONS, _MANY_SECTIONS = 3, 20
"""Sections that are enough for a list, and those to which subsections may raise their number."""
_LABEL = "Contents:"
"""Label in languages without one of their own."""
_MAX_LABEL = 40
"""Characters of a heading before a sentence."""
_ROMAN = "ivx"
_ENDS = " .:;"


def heading_key(words: Sequence[str]) -> str:
    """Return what headings have in common that count as the same: their words without numbers, see `split_words`."""
    return " ".join(word for word in words if not word.isdecimal() and word.strip(_ROMAN))


def without_label(text: str, common: Set[str], language: str) -> str:
    """Return a sentence without the heading before it in the same line, such as "Background: ..." in many abstracts.

    Args:
        text: The sentence.
        common: Keys of headings that many documents have, see `heading_key`.
        language: Code of the language.
    """
    label, colon, rest = text.partition(": ")
    is_label = colon and len(label) <= _MAX_LABEL and heading_key(split_words(label, language)) in common
    return capitalise(rest) if is_label and rest else text


def table_of_contents(
    document: Document,
    sentences: Sequence[SourceSentence],
    preferences: Mapping[int, float],
    common: Set[str],
    language: str,
) -> list[tuple[int, str]]:
    """Select the headings that tell what a document is about.

    They are those of the highest levels that have enough of them, without the title, those of sections without content,
    those that many documents have, and those that several sections have (but for their numbers).

    Args:
        document: The document.
        sentences: Its sentences, see `source_sentences`.
        preferences: How much a reader wants each sentence that has content, by its index.
        common: Keys of headings that many documents have, see `heading_key`.
        language: Code of the language of the document.

    Returns:
        Index and text of each heading, in order; empty if there are fewer than `MIN_HEADINGS`.
    """
    levels: dict[int, int] = {}  # of each heading, by its index
    utility: dict[int, float] = {}  # the greatest preference below each heading, those of its subsections included
    open_headings: list[int] = []
    for index, sentence in enumerate(sentences):
        if sentence.kind == "heading":
            levels[index] = document.blocks[sentence.block].level if document.blocks else 1
            open_headings = [*(heading for heading in open_headings if levels[heading] < levels[index]), index]
        elif index in preferences:
            utility |= {each: max(preferences[index], utility.get(each, -math.inf)) for each in open_headings}
    keys = {index: heading_key(split_words(sentences[index].text, language)) for index in levels}
    uninformative = {*common, heading_key(split_words(document_title(document), language)), ""}
    uninformative |= {key for key, count in Counter(keys.values()).items() if count > 1}
    headings = [
        index
        for index in levels
        if index in utility
        and keys[index] not in uninformative
        and word_count(sentences[index].text) <= _MAX_HEADING_WORDS
    ]
    for level in sorted({levels[index] for index in headings}):
        high = [index for index in headings if levels[index] <= level]
        if len(high) >= MIN_HEADINGS:
            return _within_limits(sorted(high, key=lambda index: -utility[index]), sentences)
    return []


def contents_line(headings: Sequence[tuple[int, str]], language: str) -> list[tuple[int, str]]:
    """Return headings with punctuation, and a label before the first: the last line of a summary.

    Args:
        headings: Index and text of each heading.
        language: Code of the language of the document.
    """
    if not headings:
        return []
    label = languages()[language].contents if language in languages() else _LABEL
    between, end = ("\uff1b", "\u3002") if language in FULL_WIDTH else (";", ".")
    marks = [*[between] * (len(headings) - 1), end]
    parts = [(index, f"{text}{mark}") for (index, text), mark in zip(headings, marks, strict=True)]
    (index, text), *others = parts
    return [(index, f"{label}{separator(language)}{text}"), *others]


class ListedSection(NamedTuple):
    """Section in a list of a few.

    Attributes:
        heading: Index of its heading among the sentences.
        end: Index of the sentence behind its last, which opens the next section of the list.
        level: Depth in the list, from 1.
    """

    heading: int
    end: int
    level: int


def listed_sections(document: Document, sentences: Sequence[SourceSentence]) -> list[ListedSection]:
    """Return the sections of the highest levels that have a few, and those below them as long as they are not many.

    The title of the document opens none.
    """
    title = document_title(document)
    headings = [
        (index, document.blocks[sentence.block].level if document.blocks else 1)
        for index, sentence in enumerate(sentences)
        if sentence.kind == "heading" and sentence.text != title
    ]
    counts = Counter(level for _, level in headings)
    levels: list[int] = []
    for level in sorted(counts):
        count = sum(counts[each] for each in levels)
        if count >= _FEW_SECTIONS and count + counts[level] > _MANY_SECTIONS:
            break
        levels.append(level)
    listed = [(index, level) for index, level in headings if level in levels]
    ends = [*(index for index, _ in listed[1:]), len(sentences)]
    return [
        ListedSection(index, end, levels.index(level) + 1) for (index, level), end in zip(listed, ends, strict=False)
    ]


def section_numbers(document: Document, sentences: Sequence[SourceSentence], indices: Sequence[int]) -> list[int]:
    """Return the number of the listed section of each of some sentences, 0 before the first."""
    starts = [section.heading for section in listed_sections(document, sentences)]
    return [bisect(starts, index) for index in indices]


def _within_limits(headings: Sequence[int], sentences: Sequence[SourceSentence]) -> list[tuple[int, str]]:
    """Return the first of some headings without their numbers, in the order of the document."""
    chosen: dict[int, str] = {}
    words = 0
    for index in headings:
        text = tidy_sentence(sentences[index].text)
        number, _, rest = text.partition(" ")
        is_number = number[:1].isdigit() or number.endswith(".")
        if is_number and rest and not number.strip("0123456789.IVXLC"):
            text = rest.lstrip()
        text = text.strip(_ENDS)
        size = word_count(text)
        if text and words + size <= _MAX_WORDS and len(chosen) < MANY_HEADINGS:
            chosen[index] = text
            words += size
    return sorted(chosen.items()) if len(chosen) >= MIN_HEADINGS else []
