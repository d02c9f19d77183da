"""Similarity of the sentences of a document to a topic or a question.

Words count by the inverse of their frequency among the blocks of the document: in the sentence itself, in the headings
that it stands under, in its paragraph, and by their share of the sentences of its section. Words with one stem are the
same, in languages other than English those with the same first letters, as for the ranker; function words are none.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.language import ENGLISH, content_prefixes, function_words, split_words
from sumpool.text.porter import stem

Values = NDArray[np.float64]

_IN_HEADING, _IN_PARAGRAPH, _IN_SECTION = 1.0, 0.3, 0.3
"""Weights beside a word in the sentence itself, 1. With them the section under a heading is found most often."""
_BASE: Final = 0.6
"""Preference that the least preferred sentence counts with: more follows the focus, less what readers prefer."""


def focus_similarity(document: Document, sentences: Sequence[SourceSentence], focus: str, language: str) -> Values:
    """Return the similarity of each sentence to a topic or a question, (sentences,); 0 where no word is shared.

    Args:
        document: The document.
        sentences: Its sentences.
        focus: The topic or question.
        language: Code of the language of the document.
    """
    column = {word: index for index, word in enumerate(sorted(_content(focus, language)))}
    occurs = np.zeros((len(sentences), len(column)))
    for row, sentence in enumerate(sentences):
        occurs[row, [column[word] for word in _content(sentence.text, language) & column.keys()]] = 1.0
    around = np.zeros_like(occurs)
    frequency = np.zeros(len(column))
    blocks, start = 1, 0
    open_headings: list[tuple[int, int]] = []  # level and row of those that a sentence stands under
    for _, group in groupby(range(len(sentences)), key=lambda row: sentences[row].block):
        rows = list(group)
        first = sentences[rows[0]]
        if first.kind == "heading":
            around[start : rows[0]] += _IN_SECTION * _share(occurs[start : rows[0]])
            start = rows[-1] + 1
            level = document.blocks[first.block].level if document.blocks else 1
            open_headings = [heading for heading in open_headings if heading[0] < level] + [(level, rows[0])]
        else:
            blocks += 1
            frequency += occurs[rows].max(axis=0)
            around[rows] += _IN_PARAGRAPH * occurs[rows].max(axis=0)
        if open_headings:
            around[rows] += _IN_HEADING * occurs[[row for _, row in open_headings]].max(axis=0)
    around[start:] += _IN_SECTION * _share(occurs[start:])
    weights = np.log1p(blocks / np.maximum(frequency, 1))
    return np.asarray((occurs + around) @ weights / max(weights[occurs.any(axis=0)].sum(), 1e-9))


def focused(preferences: Values, similarity: Values) -> Values:
    """Return preferences weighed by similarity, on their scale; those of sentences that share no word come last."""
    least, best = preferences.min(), preferences.max()
    factors = (preferences - least + _BASE) / (best - least + _BASE)
    return np.asarray(np.where(similarity > 0, factors * similarity / similarity.max(), preferences - best))


def _content(text: str, language: str) -> set[str]:
    if language != ENGLISH:
        return set(content_prefixes(split_words(text, language), language))
    left_out = function_words(language)
    return {stem(word) for word in split_words(text) if len(word) > 1 and word not in left_out}


def _share(occurs: Values) -> Values:
    """Return a value for each word that grows with the share of the sentences of a section that have it."""
    return np.asarray(np.sqrt(occurs.mean(axis=0))) if len(occurs) else np.zeros(occurs.shape[1])
