"""Table of contents as a part of a summary: the headings of the sections whose sentences readers want most.

It stands where no sentence says what a document is about, as in guides, terms or questions and answers
(docs/ranking.md).
"""

import math
from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from sumpool.documents.document import Document, document_title
from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.language import FULL_WIDTH, languages, separator, split_words, word_count
from sumpool.text.prose import capitalise, tidy_sentence

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
