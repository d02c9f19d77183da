"""Features of the sentences of a document for the ranker: their positions in its structure, and words.

No list of words takes part: cue words and kinds of sections are learnt, see `cues`. Words are compared by their first
letters, which needs no stemmer and serves every language with spaces.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.source_sentences import SourceSentence
from sumpool.ranking.outline import Outline, outline
from sumpool.ranking.word_features import Values, lexical_features, style_features
from sumpool.text.language import ENGLISH
from sumpool.text.word_graph import SentenceWords
from sumpool.text.words import split_words

FEATURES: Final = (
    "position",
    "log_index",
    "log_index_from_end",
    "index_in_section",
    "log_paragraph_in_section",
    "log_paragraph",
    "index_in_paragraph",
    "paragraph_size",
    "from_end_of_paragraph",
    "is_list_item",
    "section_position",
    "log_section",
    "log_section_size",
    "section_share",
    "is_before_headings",
    "log_sections",
    "log_sentences",
    "log_words",
    "word_length",
    "digits",
    "capitals",
    "brackets",
    "commas",
    "quotes",
    "marks",
    "ends_with_full_stop",
    "ends_with_colon",
    "is_question",
    "starts_in_lower_case",
    "log_words_before",
    "log_document_words",
    "mean_words",
    "centrality",
    "centrality_rank",
    "frame_centrality",
    "frame_centrality_rank",
    "is_in_frame",
    "paragraph_centrality",
    "content_words",
    "common_words",
    "mean_log_frequency",
    "max_log_frequency",
    "first_mentions",
    "later_mentions",
    "title_overlap",
    "title_recall",
    "has_title",
    "title_in_opening",
    "frequency_in_opening",
    "heading_overlap",
    "section_overlap",
    "first_overlap",
    "previous_overlap",
)
"""Names of the features, in the order of the columns."""


@dataclass(frozen=True)
class SentenceFeatures:
    """Features of the candidates of a document.

    Attributes:
        values: (candidates, features), by the names in `FEATURES`; NaN where unknown.
        words: Lower-case words of each candidate, function words included.
        headings: Lower-case words of the heading of each candidate's section.
    """

    values: NDArray[np.float32]
    words: SentenceWords
    headings: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.words)

    def part(self, rows: NDArray[np.int64]) -> "SentenceFeatures":
        """Return the features of some of the candidates."""
        return SentenceFeatures(self.values[rows], self.words.part(rows), tuple(self.headings[row] for row in rows))


def sentence_features(
    sentences: Sequence[SourceSentence], candidates: Sequence[int], title: str, language: str = ENGLISH
) -> SentenceFeatures:
    """Compute the features of the candidates of a document.

    Args:
        sentences: Sentences of the document, see `source_sentences`.
        candidates: Indices of the candidates, which are sentences of prose.
        title: Title of the document; empty if it has none.
        language: Code of its language.
    """
    structure = outline(sentences)
    texts = [sentences[index].text for index in structure.indices.tolist()]
    words = SentenceWords(split_words(text, language) for text in texts)
    headings = [tuple(split_words(heading, language)) for heading in structure.headings]
    rows = np.searchsorted(structure.indices, candidates)
    values = np.empty((len(rows), len(FEATURES)), np.float32)
    for group in _groups(texts, words, headings, split_words(title, language), structure, language):
        _fill(values, group, rows)
        del group  # before the next one is computed
    return SentenceFeatures(
        values, words.part(rows), tuple(headings[section] for section in structure.section[rows].tolist())
    )


def _fill(values: NDArray[np.float32], group: Mapping[str, Values], rows: NDArray[np.int64]) -> None:
    """Fill the columns of features of the sentences of prose, for some rows of these."""
    for name, column in group.items():
        values[:, FEATURES.index(name)] = column[rows]


def _groups(
    texts: Sequence[str],
    words: SentenceWords,
    headings: Sequence[Sequence[str]],
    title: Sequence[str],
    structure: Outline,
    language: str,
) -> Iterator[Mapping[str, Values]]:
    """Compute the features of the sentences of prose, some at a time: a book has a hundred thousand sentences."""
    yield _structure(structure)
    yield style_features(texts, words)
    yield from lexical_features(words, headings, title, structure, language)


def _structure(structure: Outline) -> dict[str, Values]:
    count = len(structure.indices)
    order = np.arange(count, dtype=np.float64)
    sizes = np.bincount(structure.section, minlength=len(structure.headings)).astype(np.float64)
    paragraph_sizes = np.bincount(structure.paragraph).astype(np.float64) if count else np.zeros(0)
    used, section = np.unique(structure.section, return_inverse=True)
    return {
        "position": order / max(count, 1),
        "log_index": np.log1p(order),
        "log_index_from_end": np.log1p(count - 1 - order),
        "index_in_section": structure.in_section.astype(np.float64),
        "log_paragraph_in_section": np.log1p(structure.paragraph_in_section),
        "log_paragraph": np.log1p(structure.paragraph),
        "index_in_paragraph": structure.in_paragraph.astype(np.float64),
        "paragraph_size": paragraph_sizes[structure.paragraph],
        "from_end_of_paragraph": paragraph_sizes[structure.paragraph] - 1 - structure.in_paragraph,
        "is_list_item": structure.is_item.astype(np.float64),
        "section_position": section / max(len(used), 1),
        "log_section": np.log1p(section),
        "log_section_size": np.log1p(sizes[structure.section]),
        "section_share": sizes[structure.section] / max(count, 1),
        "is_before_headings": (structure.section == 0).astype(np.float64),
        "log_sections": np.full(count, np.log(max(len(used), 1))),
        "log_sentences": np.full(count, np.log(max(count, 1))),
    }
