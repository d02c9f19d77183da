"""Outline of a document: section, paragraph and position of every sentence, as arrays."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.prose import PROSE_KINDS

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Outline:
    """Structure around the sentences of prose of a document; every array is (prose,).

    Attributes:
        indices: Index of each sentence of prose among all sentences.
        section: Section of each, from 0; the one before the first heading is 0.
        paragraph: Paragraph of each, from 0.
        in_paragraph: Index of each in its paragraph, from 0.
        in_section: Index of each in its section, from 0.
        paragraph_in_section: Index of its paragraph in its section, from 0.
        is_item: Whether each is in a list item.
        headings: Heading of each section, (sections,); empty before the first heading.
    """

    indices: Indices
    section: Indices
    paragraph: Indices
    in_paragraph: Indices
    in_section: Indices
    paragraph_in_section: Indices
    is_item: NDArray[np.bool_]
    headings: tuple[str, ...]


def outline(sentences: Sequence[SourceSentence]) -> Outline:
    """Return the outline of a document.

    Args:
        sentences: Sentences of the document, see `source_sentences`; headings open sections.
    """
    headings = [""]
    rows = array("q")
    for index, sentence in enumerate(sentences):
        if sentence.kind == "heading":
            headings.append(sentence.text)
        elif sentence.kind in PROSE_KINDS:
            rows.extend((index, len(headings) - 1, sentence.block, sentence.kind == "list_item"))
    indices, section, block, item = np.frombuffer(rows, np.int64).reshape(-1, 4).T.copy()
    count = len(indices)
    paragraph = _runs(block)
    starts = np.searchsorted(section, section)  # (prose,): the first sentence of each section
    return Outline(
        indices,
        section,
        paragraph,
        np.arange(count) - np.searchsorted(paragraph, paragraph),
        np.arange(count) - starts,
        paragraph - paragraph[starts],
        item.astype(bool),
        tuple(headings),
    )


def _runs(values: Indices) -> Indices:
    """Number the runs of equal neighbours, from 0."""
    changes = np.ones(len(values), np.int64)
    changes[1:] = values[1:] != values[:-1]
    return np.cumsum(changes) - 1
