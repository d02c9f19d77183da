"""Features of the sentences of a document for the ranker: their positions in its structure, and words.

No list of words takes part: `sumpool.ranking.ranker` learns cue words and kinds of sections. Words are compared by
their first letters, which needs no stemmer and serves every language with spaces.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.source_sentences import SourceSentence
from sumpool.text.language import ENGLISH, content_prefixes, split_words
from sumpool.text.prose import PROSE_KINDS
from sumpool.text.word_graph import Indices, SentenceWords, Values, WordGraph

Item = TypeVar("Item")

_FRAME_START, _FRAME_END = 0.3, 0.08
"""Shares of the document that are its frame: its beginning and its end."""
_FIRST = 5
"""Sentences at the beginning that all others are compared with."""
_OPENING = 3
"""First content words of a sentence."""
_COMMON = 15
"""Most frequent content words of the document, whose number in a sentence is a feature."""
_CHARACTERS = tuple(map(re.compile, (r"\d", r"\b[A-Z]", "[\"']", "[`\u201c\u201d\u2018\u2019]", r"[^\w\s.,;:()-]")))
"""Digits, capitals, straight and other quotation marks, and marks of any kind."""
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
    words = SentenceWords.of(split_words(text, language) for text in texts)
    headings = [tuple(split_words(heading, language)) for heading in structure.headings]
    rows = np.searchsorted(structure.indices, candidates)
    values = np.empty((len(rows), len(FEATURES)), np.float32)

    def fill(group: Mapping[str, Values]) -> None:
        for name, column in group.items():
            values[:, FEATURES.index(name)] = column[rows]

    # a group at a time, as a book has a hundred thousand sentences
    fill(_structure_features(structure))
    fill(style_features(texts, words))
    for group in lexical_features(words, headings, split_words(title, language), structure, language):
        fill(group)
    return SentenceFeatures(
        values, words.part(rows), tuple(headings[section] for section in structure.section[rows].tolist())
    )


@dataclass(frozen=True)
class Outline:
    """Structure around the sentences of prose of a document; every array is (prose,).

    Attributes:
        indices: Index of each sentence of prose among all sentences.
        section: Section of each, from 0; the one before the first heading is 0.
        paragraph: Paragraph of each, from 0.
        is_item: Whether each is in a list item.
        headings: Heading of each section, (sections,); empty before the first heading.
    """

    indices: Indices
    section: Indices
    paragraph: Indices
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
    is_first = np.ones(len(indices), np.int64)
    is_first[1:] = block[1:] != block[:-1]
    return Outline(indices, section, np.cumsum(is_first) - 1, item.astype(bool), tuple(headings))


def _structure_features(structure: Outline) -> dict[str, Values]:
    count = len(structure.indices)
    order = np.arange(count, dtype=np.float64)
    sizes = np.bincount(structure.section, minlength=len(structure.headings)).astype(np.float64)
    paragraph_sizes = np.bincount(structure.paragraph).astype(np.float64) if count else np.zeros(0)
    used, section = np.unique(structure.section, return_inverse=True)
    starts = np.searchsorted(structure.section, structure.section)  # (prose,): the first sentence of each section
    in_paragraph = order - np.searchsorted(structure.paragraph, structure.paragraph)
    return {
        "position": order / count,
        "log_index": np.log1p(order),
        "log_index_from_end": np.log1p(count - 1 - order),
        "index_in_section": order - starts,
        "log_paragraph_in_section": np.log1p(structure.paragraph - structure.paragraph[starts]),
        "log_paragraph": np.log1p(structure.paragraph),
        "index_in_paragraph": in_paragraph,
        "paragraph_size": paragraph_sizes[structure.paragraph],
        "from_end_of_paragraph": paragraph_sizes[structure.paragraph] - 1 - in_paragraph,
        "is_list_item": structure.is_item.astype(np.float64),
        "section_position": section / len(used),
        "log_section": np.log1p(section),
        "log_section_size": np.log1p(sizes[structure.section]),
        "section_share": sizes[structure.section] / count,
        "is_before_headings": (structure.section == 0).astype(np.float64),
        "log_sections": np.full(count, np.log(max(len(used), 1))),
        "log_sentences": np.full(count, np.log(max(count, 1))),
    }


def style_features(texts: Sequence[str], words: SentenceWords) -> dict[str, Values]:
    """Measure the characters and the length of sentences.

    Args:
        texts: The sentences of prose.
        words: Their words.
    """
    digits, capitals, straight, curly, marks = (
        np.array([len(pattern.findall(text)) for text in texts], np.float64) for pattern in _CHARACTERS
    )
    characters = np.maximum(_column(texts, len), 1)
    sizes = words.sizes.astype(np.float64)
    lengths = np.array([len(word) for word in words.vocabulary], np.int64)[words.numbers]
    divisor = np.maximum(sizes, 1)
    return {
        "log_words": np.log1p(sizes),
        "word_length": np.bincount(words.sentence, lengths, len(words)) / divisor,
        "digits": digits / characters,
        "capitals": capitals / divisor,
        "brackets": _column(texts, lambda text: text.count("(") + text.count("[")),
        "commas": _column(texts, lambda text: text.count(",")) / divisor,
        "quotes": (straight + curly) / divisor,
        "marks": (marks - straight) / characters,
        "ends_with_full_stop": _column(texts, lambda text: text.endswith((".", "\u3002"))),
        "ends_with_colon": _column(texts, lambda text: text.endswith((":", "\uff1a"))),
        "is_question": _column(texts, lambda text: text.endswith(("?", "\uff1f"))),
        "starts_in_lower_case": _column(texts, lambda text: text[:1].islower()),
        "log_words_before": np.log1p(np.cumsum(sizes) - sizes),
        "log_document_words": np.full(len(texts), np.log1p(sizes.sum())),
        "mean_words": np.full(len(texts), sizes.mean() if len(texts) else 0.0),
    }


def _column(items: Iterable[Item], measure: Callable[[Item], float]) -> Values:
    return np.fromiter(map(measure, items), np.float64)


def lexical_features(
    words: SentenceWords,
    headings: Sequence[Sequence[str]],
    title: Sequence[str],
    structure: Outline,
    language: str,
) -> Iterator[Mapping[str, Values]]:
    """Measure centrality, frequency and overlap of the content words of sentences, one group of features at a time.

    Args:
        words: Words of each sentence of prose.
        headings: Words of the heading of each section.
        title: Words of the title.
        structure: Outline of the document.
        language: Code of its language.
    """
    content = words.replaced(lambda word: "".join(content_prefixes([word], language)))
    graph = WordGraph.of(content)
    columns = {word: column for column, word in enumerate(content.vocabulary)}
    heading_words = [set(content_prefixes(heading, language)) for heading in headings]
    in_headings = [
        (section, columns[word]) for section, heading in enumerate(heading_words) for word in heading if word in columns
    ]
    heading_of, word_of = np.array(in_headings, np.int64).reshape(-1, 2).T
    weights = np.log1p(np.bincount(word_of, minlength=graph.words))  # by the headings that have each word
    cells = graph.sentence * graph.words + graph.word  # ascending
    title_words = np.zeros(graph.words)
    title_words[[columns[word] for word in content_prefixes(title, language) if word in columns]] = 1.0
    yield _centralities(graph, structure)
    yield _frequencies(graph)
    # The first content words of a sentence mostly are its subject.
    is_opening = np.arange(len(content.numbers)) - content.starts[content.sentence] < _OPENING
    logarithm = np.log(np.maximum(np.bincount(graph.word, graph.count, graph.words), 1))
    for name, values in (("title_in_opening", title_words), ("frequency_in_opening", logarithm)):
        of_words = values[content.numbers[is_opening]]
        yield {name: np.bincount(content.sentence[is_opening], of_words, graph.sentences) / _OPENING}
    shared = np.isin(structure.section[graph.sentence] * graph.words + graph.word, heading_of * graph.words + word_of)
    sizes = np.array([max(len(heading), 2) for heading in heading_words])
    yield {
        "title_overlap": _mean(graph, title_words[graph.word]),
        "title_recall": graph.sum_by_sentence(title_words[graph.word]) / max(title_words.sum(), 1),
        "has_title": np.full(graph.sentences, float(bool(title))),
        "heading_overlap": _mean(graph, weights[graph.word]),
        "section_overlap": graph.sum_by_sentence(shared.astype(np.float64)) / sizes[structure.section],
        "first_overlap": _mean(graph, np.isin(graph.word, graph.word[graph.sentence < _FIRST]).astype(np.float64)),
        "previous_overlap": _mean(graph, np.isin(cells - graph.words, cells).astype(np.float64)),
    }


def _centralities(graph: WordGraph, structure: Outline) -> dict[str, Values]:
    count = graph.sentences
    position = np.arange(count) / count
    frame = (position < _FRAME_START) | (position >= 1 - _FRAME_END)
    centrality = np.log(np.maximum(graph.lexrank() * count, 1e-3))
    among = np.full(count, np.nan)
    among[frame] = np.log(np.maximum(graph.among(frame).lexrank() * frame.sum(), 1e-3))
    sizes = np.maximum(np.bincount(structure.paragraph), 1)
    frame_ranks = np.full(count, np.nan)
    frame_ranks[frame] = ranks(among[frame])
    return {
        "centrality": centrality,
        "centrality_rank": ranks(centrality),
        "frame_centrality": among,
        "frame_centrality_rank": frame_ranks,
        "is_in_frame": frame.astype(np.float64),
        "paragraph_centrality": (np.bincount(structure.paragraph, centrality) / sizes)[structure.paragraph],
    }


def ranks(values: Values) -> Values:
    """Return the share of smaller values, from 0 to 1."""
    shares = np.empty(len(values))
    shares[np.argsort(values, kind="stable")] = np.arange(len(values)) / max(len(values) - 1, 1)
    return shares


def _frequencies(graph: WordGraph) -> dict[str, Values]:
    """Measure how common the words of a sentence are in the document."""
    total = np.bincount(graph.word, graph.count, graph.words)
    common = np.zeros(graph.words)
    common[np.argsort(-total, kind="stable")[:_COMMON]] = 1.0
    logarithm = np.log(np.maximum(total, 1))[graph.word]
    maximum = np.zeros(graph.sentences)
    np.maximum.at(maximum, graph.sentence, logarithm)
    is_first = np.zeros(len(graph.word))
    is_first[np.unique(graph.word, return_index=True)[1]] = 1.0
    return {
        "content_words": np.log1p(graph.sum_by_sentence(graph.count)),
        "common_words": graph.sum_by_sentence(common[graph.word]) / _COMMON,
        "mean_log_frequency": _mean(graph, logarithm),
        "max_log_frequency": maximum,
        "first_mentions": _mean(graph, is_first),
        "later_mentions": _mean(graph, is_first * (total[graph.word] > graph.count)),
    }


def _mean(graph: WordGraph, values: Values) -> Values:
    """Return the mean over the distinct words of each sentence, from the values of edges."""
    return graph.sum_by_sentence(values) / np.maximum(np.bincount(graph.sentence, minlength=graph.sentences), 1)
